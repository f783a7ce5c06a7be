/** Shows the journal: who wrote what, and how to undo it. For the owner. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AuditEntry } from "../protocol/hygiene.ts";
import { Buttons } from "./change.tsx";
import { call } from "./client.ts";
import { announce } from "./done.tsx";
import { Action, Dialog, Failure, Heading, href, useLoaded } from "./parts.tsx";
import { plain, plural, time, title } from "./words.ts";

const PAGE = 50;
const WORDS_MAX = 160;
const SHOWN_MAX = 12;
/** Matches the hash of a long text, of which the journal has only length and hash. */
const DIGEST = /, sha256 [0-9a-f]{64}/g;

export function History({ agent, changed }: { agent: string | undefined; changed: number }) {
  const filter = agent === undefined ? {} : { agent };
  const [older, setOlder] = useState<AuditEntry[]>([]);
  // Keeps the newest writes as they are while older writes are shown, so that new writes do not move the list.
  const still = useRef(changed);
  if (older.length === 0) still.current = changed;
  const newest = useLoaded(() => call("memory.audit", { ...filter, limit: PAGE }), [agent], still.current);
  const [next, setNext] = useState<number | null>(null);
  const [undoing, setUndoing] = useState<AuditEntry>();
  useEffect(() => {
    setOlder([]);
    setNext(newest.value?.next ?? null);
  }, [newest.value]);
  const more = async () => {
    if (next === null) return;
    const page = await call("memory.audit", { ...filter, before: next, limit: PAGE });
    setOlder((known) => [...known, ...page.entries]);
    setNext(page.next);
  };
  const entries = [...(newest.value?.entries ?? []), ...older];
  return (
    <>
      <h1>History</h1>
      <Heading aside="the newest first">{agent === undefined ? "All clients" : `Writes of ${plain(agent)}`}</Heading>
      {agent === undefined ? null : <a href={href("history")}>Show all clients</a>}
      <Failure error={newest.error} />
      {newest.value !== undefined && entries.length === 0 ? <p class="quiet">Nothing was written that fits.</p> : null}
      <ul class="rows history">
        {entries.map((entry) => (
          <li key={entry.seq}>
            <div>
              <span class="words" dir="auto">
                {inWords(entry.method, entry.arguments)}
              </span>
              <small>
                {time(entry.at_ms)} · <a href={href("history", { agent: entry.agent })}>{plain(entry.agent)}</a> ·{" "}
                {entry.door}
              </small>
            </div>
            <button type="button" onClick={() => setUndoing(entry)}>
              Undo
            </button>
          </li>
        ))}
      </ul>
      {next === null ? null : (
        <div class="buttons">
          <Action run={more}>Show older writes</Action>
        </div>
      )}
      {undoing === undefined ? null : <Undo entry={undoing} onClose={() => setUndoing(undefined)} />}
    </>
  );
}

export function inWords(method: string, asked: Record<string, unknown>): string {
  const { wing, room, content, ...others } = asked;
  const place = [wing, room].filter((one) => typeof one === "string").join(" / ");
  const rest = Object.entries(others).flatMap(([name, value]) =>
    typeof value === "string" || typeof value === "number" ? [`${spaced(name)} ${value}`] : [],
  );
  const text = typeof content === "string" ? [`“${title(content)}”`] : [];
  const words = [place, ...text, ...rest].filter((word) => word !== "").join(", ");
  return plain(`${spaced(method)}: ${words.replaceAll(DIGEST, "")}`.slice(0, WORDS_MAX));
}

/** Writes `source_file`, `sourceFile` and `source.replace` as words. */
function spaced(name: string): string {
  return name.replaceAll(/[_.]/g, " ").replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function Undo({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const [isAll, setAll] = useState(false);
  const { agent, at_ms: sinceMs, seq } = entry;
  const asked = (untilMs: number) => ({ agent, sinceMs, ...(isAll ? { untilMs } : { untilMs: sinceMs, seq }) });
  const plan = useLoaded(() => call("memory.undoPreview", asked(Number.MAX_SAFE_INTEGER)), [seq, isAll]);
  const undo = async () => {
    // Fixes the time limit before the undo, so that the undo spares writes that come later.
    const latestMs = Math.max(Date.now(), plan.value?.latest_ms ?? 0);
    const done = await call("memory.undo", asked(latestMs));
    const left = done.refused === 0 ? "" : `; ${plural(done.refused, "change")} of others since then stayed`;
    announce({ says: `Undone: ${plural(done.removed + done.restored + done.reverted, "change")}${left}.` });
    onClose();
  };
  const items = plan.value?.items ?? [];
  return (
    <Dialog title="Take this back?" onClose={onClose}>
      <p>{inWords(entry.method, entry.arguments)}</p>
      <label class="check">
        <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} /> and
        everything that {plain(agent)} wrote since
      </label>
      <Failure error={plan.error} />
      {plan.value === undefined ? null : (
        <p data-number="plan">
          {plural(plan.value.removed, "addition")} to remove, {plan.value.restored} to restore, {plan.value.reverted} to
          revert; {plan.value.refused} changed by others since.
        </p>
      )}
      <ul class="rows">
        {items.slice(0, SHOWN_MAX).map(({ kind, id, change, by, preview = "" }) => (
          <li key={`${kind} ${id}`} class="pad-y">
            <span class="one">
              {change} {kind}: {preview === "" ? plain(id) : title(preview)}
            </span>
            {by === undefined ? null : <small>changed since by {plain(by)}</small>}
          </li>
        ))}
      </ul>
      {items.length > SHOWN_MAX ? <p class="quiet">and {items.length - SHOWN_MAX} more</p> : null}
      <Buttons run={undo} does="Undo" onClose={onClose} />
    </Dialog>
  );
}
