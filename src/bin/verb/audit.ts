/** `palace history`: lists who wrote what, and when. */
import { connectClient } from "../../client/client.ts";
import type { Config } from "../../config/config.ts";
import type { AuditEntry } from "../../protocol/hygiene.ts";
import { shownSource } from "../feeding/came-from.ts";
import { inWords } from "../report/written.ts";
import { type Output, shorten } from "../terminal/output.ts";
import { readTime } from "../terminal/time.ts";
import { defineVerb, usageError } from "../verb.ts";

const USAGE = `palace history [--client NAME] [--tool NAME] [--since TIME] [--limit N]

The writes of the journal, the newest first: when each arrived, who sent it (the name that \`palace history undo --client\` takes), through which
door, and what was asked. A write that its client dates earlier, because it waited for a broker or says so, shows that too. TIME is
2026-11-22, 2026-11-22T14:30 or 30m, 2h, 3d ago. 50 rows, unless --limit says more. The journal goes back as many days as the
setting audit-days says.`;

const LIMIT = 50;
const PAGE = 500;
const SHOWN_COLUMNS = 80;

export const verb = defineVerb({
  usage: USAGE,
  options: {
    client: { type: "string" },
    tool: { type: "string" },
    since: { type: "string" },
    limit: { type: "string" },
  },
  args: [0, 0],
  forOwner: true,
  run: async ({ values, config, out }) => {
    const limit = values.limit === undefined ? LIMIT : Number(values.limit);
    if (!Number.isInteger(limit) || limit < 1) throw usageError(USAGE, "--limit takes a whole number from 1");
    const asked = {
      ...(values.client !== undefined && { agent: values.client }),
      ...(values.tool !== undefined && { tool: values.tool.replace(/^mempalace_/, "") }),
      ...(values.since !== undefined && { sinceMs: readTime(values.since, "since", Date.now()) }),
    };
    const client = await connectClient({ config, agent: "palace audit", start: "auto" });
    try {
      const entries: AuditEntry[] = [];
      let next: number | null | undefined;
      while (entries.length < limit && next !== null) {
        const from = next === undefined ? {} : { before: next };
        const page = await client.call("memory.audit", {
          ...asked,
          ...from,
          limit: Math.min(PAGE, limit - entries.length),
        });
        entries.push(...page.entries);
        next = page.next;
      }
      if (out.isJson) out.document({ entries, more: next !== null });
      else tell(entries, next !== null, config, out);
      return 0;
    } finally {
      client.close();
    }
  },
});

function tell(entries: readonly AuditEntry[], more: boolean, config: Config, out: Output): void {
  const sources = new Map<string, string>();
  const sourceOf = (path: string): string => {
    const shown = sources.get(path) ?? shownSource(config, path);
    sources.set(path, shown);
    return shown;
  };
  out.table(
    entries.map(({ at_ms: atMs, claimed_ms: claimedMs, agent, door, method, arguments: asked }) => [
      ...[localTime(atMs), agent, door, method, shorten(inWords(asked, sourceOf), SHOWN_COLUMNS)],
      claimedMs === undefined ? "" : `dated ${localTime(claimedMs)} by its client`,
    ]),
  );
  if (entries.length === 0) out.notice("nothing was written that fits");
  else if (more) out.notice("there is more: --limit N");
}

/** Formats as 2026-11-22 14:30:05, which `--since` accepts with a T in between. */
function localTime(atMs: number): string {
  const local = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace("T", " ");
}
