/** Links of a wing, loaded when the user opens them: tunnels to other wings, and hallways (pairs of entities that occur together). */
import { useState } from "preact/hooks";
import { callTool } from "./client.ts";
import { Failure, Heading, href, useLoaded } from "./parts.tsx";
import { plain, plural } from "./words.ts";

/** Maximum number of links of each kind to show. */
const SHOWN_MAX = 100;

type Link = Record<string, unknown>;

export function Links({ wing, changed }: { wing: string; changed: number }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="links" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Tunnels and hallways</summary>
      {isOpen ? <Opened wing={wing} changed={changed} /> : null}
    </details>
  );
}

function Opened({ wing, changed }: { wing: string; changed: number }) {
  const tunnels = useLoaded(() => callTool("list_tunnels", { wing }), [wing], changed);
  const hallways = useLoaded(() => callTool("list_hallways", { wing, limit: SHOWN_MAX }), [wing], changed);
  const found = (tunnels.value?.["list"] ?? []) as Link[];
  const pairs = (hallways.value?.["hallways"] ?? []) as Link[];
  return (
    <>
      <section>
        <Heading aside={<span data-number="tunnels">{plural(found.length, "tunnel")}</span>}>To other wings</Heading>
        <Failure error={tunnels.error} />
        <ul class="flow">
          {found.slice(0, SHOWN_MAX).map((tunnel) => (
            <li key={String(tunnel["id"])}>
              <End end={tunnel["source"]} /> ↔ <End end={tunnel["target"]} />{" "}
              <span class="quiet">{textOf(tunnel["label"])}</span>
            </li>
          ))}
        </ul>
        {found.length > SHOWN_MAX ? <p class="quiet">The first {SHOWN_MAX} are shown.</p> : null}
      </section>
      <section>
        <Heading
          aside={<span data-number="hallways">{plural(Number(hallways.value?.["total"] ?? 0), "hallway")}</span>}
        >
          Often together
        </Heading>
        <Failure error={hallways.error} />
        <ul class="flow">
          {pairs.map((pair) => (
            <li key={String(pair["id"])}>
              <Named name={pair["entity_a"]} /> ↔ <Named name={pair["entity_b"]} />{" "}
              <span class="quiet">{plural(Number(pair["co_occurrence_count"] ?? 0), "drawer")}</span>
            </li>
          ))}
        </ul>
        {Number(hallways.value?.["total"] ?? 0) > pairs.length ? <p class="quiet">The strongest are shown.</p> : null}
      </section>
    </>
  );
}

/** Returns a field's text; empty for any other type, because a link may have been edited by hand. */
function textOf(value: unknown): string {
  return typeof value === "string" ? plain(value) : "";
}

function End({ end }: { end: unknown }) {
  const { wing = "", room = "" } = (typeof end === "object" && end !== null ? end : {}) as Record<string, unknown>;
  const place = { wing: String(wing), room: String(room) };
  return <a href={href("place", place)}>{plain(`${place.wing} / ${place.room}`)}</a>;
}

function Named({ name }: { name: unknown }) {
  return <a href={href("facts", { entity: String(name) })}>{textOf(name)}</a>;
}
