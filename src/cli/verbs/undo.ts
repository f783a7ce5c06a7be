/** `palace history undo` undoes what one agent wrote since a given time. */
import { EXIT_CODES, PalaceError, wrongUsage } from "../../base/errors.ts";
import type { UndoReport } from "../../protocol/hygiene.ts";
import { confirm } from "../terminal/confirm.ts";
import { type Output, plural, shorten } from "../terminal/output.ts";
import { readTime } from "../terminal/time.ts";
import { defineVerb, options, readCount, usageError } from "../define-verb.ts";

const USAGE = `palace history undo --client NAME --since TIME [--until TIME] [--seq N] [--dry-run] [--yes]

Undoes what the agent of that name wrote (the time when a write arrived counts, not the time that the agent gave it). Removes drawers, facts and links that it added, and restores those that it deleted or changed.
Keeps and lists what others have changed since. Without --until, writes dated in the future by a wrong clock count too. TIME is 2026-11-22, 2026-11-22T14:30 or 30m, 2h, 3d ago. An undo is
a write of "palace undo", which you can undo in the same way. Writes of the last 30 days can be undone.
--seq N undoes only the write that \`palace history --json\` lists with that seq, even if others arrived in the same millisecond.`;

const KINDS: Readonly<Record<string, string>> = {
  source: "filing record",
  triple: "fact",
  standing: "outcomes",
  carried: "graph",
  imported: "journal row",
};
const SHOWN_MAX = 40;
/** Minimum difference between two machines' clocks that we report. */
const AHEAD_MIN_MS = 60_000;
const PREVIEW_COLUMNS = 60;

export const verb = defineVerb({
  usage: USAGE,
  options: options("client= since= until= seq= dry-run yes|y"),
  forOwner: true,
  run: async ({ values, connect, out }) => {
    const { client: agent, since, until } = values;
    if (agent === undefined || since === undefined) throw usageError(USAGE, "--client and --since are both needed");
    const now = Date.now();
    const request = {
      agent,
      sinceMs: readTime(since, "since", now),
      // Includes dates in the future, because a clock that was ahead may have dated some writes.
      untilMs: until === undefined ? Number.MAX_SAFE_INTEGER : readTime(until, "until", now),
      ...(values.seq !== undefined && { seq: readCount(values.seq, "seq", 1, 1) }),
    };
    if (request.untilMs < request.sinceMs) throw usageError(USAGE, "--until is before --since");
    const client = await connect("palace undo");
    const plan = await client.call("memory.undoPreview", request);
    if (plan.seq !== request.seq)
      throw new PalaceError("PROTOCOL_VERSION_MISMATCH", "the broker is too old for --seq", "palace restart");
    if (plan.writes === 0) throw nothingSince(agent, plan);
    // Excludes writes that arrive after the preview.
    if (until === undefined) request.untilMs = Math.max(now, plan.latest_ms ?? now);
    if (values["dry-run"] === true) return out.answer(plan, () => tell(plan, out, "Would undo"));
    if (!out.isJson) tell(plan, out, "To undo");
    const count = plan.removed + plan.restored + plan.reverted;
    if (count > 0 && !(await confirm(`Undo ${plural(count, "change")} of ${agent}?`, values.yes))) return 0;
    const done = count === 0 ? plan : await client.call("memory.undo", request);
    const { removed, restored, reverted, refused } = done;
    out.answer(done, `Undone: ${removed} removed, ${restored} restored, ${reverted} reverted; ${refused} refused.`);
    return refused > 0 ? EXIT_CODES.PALACE : 0;
  },
});

function nothingSince(agent: string, { agents, latest_ms: latestMs }: UndoReport): PalaceError {
  const others = agents.map((name) => JSON.stringify(name)).join(", ");
  const newest = latestMs === undefined ? undefined : new Date(latestMs).toISOString();
  const since = newest === undefined ? "" : `its newest write is dated ${newest}: --since ${newest}`;
  const who = others === "" ? "" : `clients that have: ${others}`;
  const hint = [since, who].filter((part) => part !== "").join("; ");
  return wrongUsage(
    `${agent} has written nothing since then`,
    hint === "" ? "no other client has; try an earlier --since" : hint,
  );
}

function tell(plan: UndoReport, out: Output, title: string): void {
  const { items, removed, restored, reverted, refused, too_old: tooOld, latest_ms: latestMs = 0 } = plan;
  out.table(
    items
      .slice(0, SHOWN_MAX)
      .map(({ kind, id, change, by, preview = "" }) => [
        ...[change, KINDS[kind] ?? kind, id, shorten(preview, PREVIEW_COLUMNS)],
        by === undefined ? "" : `changed since by ${by}`,
      ]),
  );
  if (items.length > SHOWN_MAX) out.text(`… and more; --json lists them`);
  out.text(`${title}: ${removed} to remove, ${restored} to restore, ${reverted} to revert; ${refused} refused.`);
  if (plan.dated_by_client !== undefined) {
    const { writes, earliest_ms: earliestMs } = plan.dated_by_client;
    const earliest = new Date(earliestMs).toISOString();
    out.notice(`${plural(writes, "write")} of these arrived later than their date; the earliest date is ${earliest}`);
  }
  if (latestMs > Date.now() + AHEAD_MIN_MS)
    out.notice(`the latest of these is dated ${new Date(latestMs).toISOString()}: the clock was ahead then`);
  if (tooOld > 0)
    out.notice(`${plural(tooOld, "write")} cannot be undone, because the journal no longer has the text from before`);
}
