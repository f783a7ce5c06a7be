/** `palace history` lists who wrote what, and when. */
import type { Config } from "../../config/config.ts";
import type { AuditEntry } from "../../protocol/hygiene.ts";
import { sourcesShown } from "../../feeders/came-from.ts";
import { inWords, journalRows } from "../report/written.ts";
import { type Output, shorten } from "../terminal/output.ts";
import { readTime } from "../terminal/time.ts";
import { defineVerb, options, usageError } from "../define-verb.ts";

const USAGE = `palace history [--client NAME] [--tool NAME] [--since TIME] [--limit N]

Lists the writes of the journal, the newest first: when each arrived, who sent it (the name that \`palace history undo --client\` takes), through which
door, and what was asked. If a client gave its write an earlier date, the list shows that date too. TIME is
2026-11-22, 2026-11-22T14:30 or 30m, 2h, 3d ago. Lists 50 rows unless --limit says otherwise. Writes that \`palace import\` brought from another
memory have its path at the end. The setting audit-days says how many days the journal goes back.`;

const LIMIT = 50;
const PAGE = 500;
const SHOWN_COLUMNS = 80;

export const verb = defineVerb({
  usage: USAGE,
  options: options("client= tool= since= limit="),
  forOwner: true,
  run: async ({ values, config, connect, out }) => {
    const limit = values.limit === undefined ? LIMIT : Number(values.limit);
    if (!Number.isInteger(limit) || limit < 1) throw usageError(USAGE, "--limit takes a whole number from 1");
    const asked = {
      ...(values.client !== undefined && { agent: values.client }),
      ...(values.tool !== undefined && { tool: values.tool.replace(/^mempalace_/, "") }),
      ...(values.since !== undefined && { sinceMs: readTime(values.since, "since", Date.now()) }),
    };
    const client = await connect("palace audit");
    const entries: AuditEntry[] = [];
    const page = { ...asked, limit: Math.min(PAGE, limit) };
    const [ours, imported] = [journalRows(client, page), journalRows(client, { ...page, imported: true })];
    let [own, other] = [await ours.next(), await imported.next()];
    while (entries.length < limit && !(own.done === true && other.done === true)) {
      const isOther = other.done !== true && (own.done === true || other.value.at_ms > own.value.at_ms);
      const newest = isOther ? other : own;
      if (newest.done !== true) entries.push(newest.value);
      if (isOther) other = await imported.next();
      else own = await ours.next();
    }
    const more = own.done !== true || other.done !== true;
    return out.answer({ entries, more }, () => tell(entries, more, config, out));
  },
});

function tell(entries: readonly AuditEntry[], more: boolean, config: Config, out: Output): void {
  const sourceOf = sourcesShown(config);
  out.table(
    entries.map(
      ({ at_ms: atMs, claimed_ms: claimedMs, imported_from: from, agent, door, method, arguments: asked }) => [
        ...[localTime(atMs), agent, door, method, shorten(inWords(asked, sourceOf), SHOWN_COLUMNS)],
        [
          claimedMs === undefined ? [] : `dated ${localTime(claimedMs)} by its client`,
          from === undefined ? [] : `imported from ${from}`,
        ]
          .flat()
          .join("; "),
      ],
    ),
  );
  if (entries.length === 0) out.notice("no write matches");
  else if (more) out.notice("there is more: --limit N");
}

/** Formats a time as 2026-11-22 14:30:05, which `--since` accepts with a T in between. */
function localTime(atMs: number): string {
  const local = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace("T", " ");
}
