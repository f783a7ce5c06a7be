/** The line that reports the last action, with a button to undo it. */
import { useEffect, useState } from "preact/hooks";
import { call } from "./client.ts";
import { Action } from "./parts.tsx";
import { plural } from "./words.ts";

/** `number`: key of the line, so that a new line does not show an older line's error. */
type Done = { says: string; number?: number; undo?: { sinceMs: number; untilMs: number; seq: number } };

/** Name of the page in the broker's journal. */
export const OURS = "ui:page";
const EVENT = "palace-done";

/** Does a write and announces it. `canUndo`: the write can be undone, and the role allows that. */
export async function doneWith<T>(says: string, canUndo: boolean, write: () => Promise<T>): Promise<T> {
  const result = await write();
  // Takes the time of the newest write from the broker, whose clock dates the writes and may differ from the browser's.
  const newest = canUndo ? await call("memory.audit", { agent: OURS, limit: 1 }).catch(() => undefined) : undefined;
  const { at_ms: at, seq } = newest?.entries[0] ?? {};
  announce({ says, ...(at !== undefined && seq !== undefined && { undo: { sinceMs: at, untilMs: at, seq } }) });
  return result;
}

export function announce(detail: Done): void {
  dispatchEvent(new CustomEvent(EVENT, { detail }));
}

export function LastDone() {
  const [done, setDone] = useState<Done>();
  useEffect(() => {
    let number = 0;
    const hear = (event: Event) => setDone({ ...(event as CustomEvent<Done>).detail, number: ++number });
    addEventListener(EVENT, hear);
    return () => removeEventListener(EVENT, hear);
  }, []);
  const undo = async () => {
    if (done?.undo === undefined) return;
    const { removed, restored, reverted, refused } = await call("memory.undo", { agent: OURS, ...done.undo });
    const left = refused === 0 ? "" : `; ${plural(refused, "change")} of others since then stayed`;
    announce({ says: `Undone: ${plural(removed + restored + reverted, "change")}${left}.` });
  };
  return (
    <div class="done" role="status">
      {done === undefined ? null : (
        <p key={done.number}>
          {done.says} {done.undo === undefined ? null : <Action run={undo}>Undo</Action>}
          <button type="button" aria-label="Close this line" onClick={() => setDone(undefined)}>
            ×
          </button>
        </p>
      )}
    </div>
  );
}
