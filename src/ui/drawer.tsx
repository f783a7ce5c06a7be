/** Shows one drawer: its text, origin, changes and similar drawers, and the actions that the owner may take. */
import { useState } from "preact/hooks";
import type { Role } from "../protocol/spec.ts";
import { call } from "./client.ts";
import { type Change, ChangeDialog } from "./change.tsx";
import { type Drawer, showDrawer } from "./drawers.ts";
import { inWords } from "./history.tsx";
import { Outcomes } from "./outcomes.tsx";
import { Failure, Heading, href, useLoaded } from "./parts.tsx";
import { Crumbs } from "./place.tsx";
import { count, plain, time, title } from "./words.ts";

/** Number of characters to show at first, because a browser needs long to lay out a megabyte. */
const SHOWN_FIRST = 20_000;
const QUERY_MAX = 300;
const NEAR = 7;
const WRITES_LOOKED_AT = 500;
const CODE = /\.(?:[cm]?[jt]sx?|py|rs|go|c|h|cc|cpp|java|rb|sh|sql|json|ya?ml|toml|css|html)$/i;
const CHANGES: readonly Change[] = ["edit", "move", "delete", "forget"];
/** Metadata fields that the view does not list, because they have a separate line or are useless to a person. */
const TOLD = [
  "wing",
  "room",
  "source_file",
  "added_by",
  "agent",
  "filed_at",
  "last_modified",
  "chunk_index",
  "id_recipe",
  "created_at",
  "timestamp",
  "query",
  "normalize_version",
  "source_mtime",
  "chunk_total",
  "content_date_source",
  "line_start",
  "line_end",
  "hall",
];

type Props = { id: string; role: Role; changed: number };

export function DrawerView({ id, role, changed }: Props) {
  const shown = useLoaded(() => showDrawer(id), [id], changed);
  const [change, setChange] = useState<Change>();
  if (shown.error !== undefined) return <Failure error={shown.error} />;
  const drawer = shown.value;
  if (drawer === undefined) return <Missing isLoading={!("value" in shown)} />;
  return (
    <>
      <Crumbs wing={drawer.wing} room={drawer.room} />
      <h1 dir="auto">{title(drawer.content)}</h1>
      {role !== "admin" ? null : (
        <div class="buttons">
          {CHANGES.map((one) => (
            <button key={one} type="button" class={one === "forget" ? "danger" : ""} onClick={() => setChange(one)}>
              {NAMES[one]}
            </button>
          ))}
        </div>
      )}
      <div class="columns">
        <Text content={drawer.content} isCode={CODE.test(drawer.source_path)} />
        <aside>
          <Origin drawer={drawer} />
          <Outcomes id={drawer.drawer_id} isOwner={role === "admin"} changed={changed} />
          {role === "admin" ? <Changes id={drawer.drawer_id} changed={changed} /> : null}
          <Near drawer={drawer} />
        </aside>
      </div>
      {change === undefined ? null : (
        <ChangeDialog change={change} drawer={drawer} onClose={() => setChange(undefined)} />
      )}
    </>
  );
}

const NAMES: Readonly<Record<Change, string>> = {
  edit: "Edit",
  move: "Move",
  delete: "Delete",
  forget: "Erase permanently",
};

function Missing({ isLoading }: { isLoading: boolean }) {
  if (isLoading) return <p class="quiet">Reading …</p>;
  return (
    <>
      <h1>There is no such drawer</h1>
      <p>
        It was deleted or moved. <a href={href("history")}>The history</a> says by whom.
      </p>
    </>
  );
}

function Text({ content, isCode }: { content: string; isCode: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const text = isWhole ? content : content.slice(0, SHOWN_FIRST);
  return (
    <section class="text">
      <pre dir="auto" class={isCode ? "code" : ""}>
        {plain(text)}
      </pre>
      {text.length === content.length ? null : (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {count(content.length)} characters
        </button>
      )}
    </section>
  );
}

function Origin({ drawer }: { drawer: Drawer }) {
  const { metadata, source_path: source, drawer_id: id } = drawer;
  const { line_start: first, line_end: last } = metadata;
  const filed = time(String(metadata["filed_at"] ?? metadata["created_at"]));
  const modified = time(String(metadata["last_modified"]));
  const rows: [name: string, value: string][] = [
    ["Filed", filed],
    ["Changed", modified === filed ? "" : modified],
    ["By", String(metadata["added_by"] ?? metadata["agent"] ?? "")],
    ["Source", source],
    ["Lines", first === undefined ? "" : `${first} to ${last ?? first}`],
    ...Object.entries(metadata)
      .filter(([name, value]) => !TOLD.includes(name) && value !== "" && !Array.isArray(value))
      .map(([name, value]): [string, string] => [name.replaceAll("_", " "), String(value)]),
    ["Id", id],
  ];
  return (
    <section>
      <Heading>Where it came from</Heading>
      <dl class="facts">
        {rows
          .filter(([, value]) => value !== "")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{plain(value)}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

function Changes({ id, changed }: { id: string; changed: number }) {
  const audit = useLoaded(() => call("memory.audit", { limit: WRITES_LOOKED_AT }), [id], changed);
  const entries = audit.value?.entries.filter(({ arguments: asked }) => asked["drawer_id"] === id) ?? [];
  if (entries.length === 0) return null;
  return (
    <section>
      <Heading aside={`in the last ${count(WRITES_LOOKED_AT)} writes`}>Changes</Heading>
      <ul class="rows">
        {entries.map((entry) => (
          <li key={entry.seq} class="pad-y">
            <span class="one">{inWords(entry.method, entry.arguments)}</span>
            <small class="one">
              {time(entry.at_ms)} · {plain(entry.agent)}
            </small>
          </li>
        ))}
      </ul>
    </section>
  );
}

type NearHit = { drawer_id: string; text: string; wing: string; room: string; source_path?: string; weak?: boolean };

function Near({ drawer }: { drawer: Drawer }) {
  const query = drawer.content.slice(0, QUERY_MAX);
  const near = useLoaded(() => call("drawer.search", { query, limit: NEAR, scope: "all" }), [drawer.drawer_id, query]);
  const hits = ((near.value?.["results"] ?? []) as unknown as NearHit[]).filter(
    ({ drawer_id: id, weak }) => id !== drawer.drawer_id && weak !== true,
  );
  if (near.error === undefined && hits.length === 0) return null;
  return (
    <section>
      <Heading>Close to it</Heading>
      <Failure error={near.error} />
      <ul class="rows">
        {hits.map((hit) => (
          <li key={hit.drawer_id}>
            <a class="line" href={href("drawer", { id: hit.drawer_id })}>
              <span class="one" dir="auto">
                {title(hit.text)}
              </span>
              <small class="one">
                {plain(`${hit.wing} / ${hit.room}`)}
                {hit.source_path && hit.source_path === drawer.source_path ? " · same source" : ""}
              </small>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
