/** `mempalace-session`, `palace mine sessions`: files the sessions of opencode, Claude Code or pi. */
import { feedSessions, type SessionReport } from "../../feeders/session-miner/feed.ts";
import type { HarnessName } from "../../feeders/session-miner/session.ts";
import { PalaceError } from "../../base/errors.ts";
import { connect, FEED_OPTIONS, feedPlace, feedWatch, placeOf, withInterrupt } from "../feeding/feeding.ts";
import { endMine, printOutcome, readExtract } from "../feeding/mining.ts";
import { openSource } from "../feeding/session-source.ts";
import { type Output, plural } from "../terminal/output.ts";
import { readTime } from "../terminal/time.ts";
import { defineVerb, readCount } from "../verb.ts";

/** Sessions with fewer messages are left out unless somebody says otherwise. */
const MESSAGES_MIN = 3;

const HARNESSES: readonly HarnessName[] = ["opencode", "claude-code", "pi"];

export const verb = defineVerb({
  usage: `palace mine sessions [--from opencode|claude-code|pi] [--session ID] [--since T] [--min-messages N] [--wing W]

Files an agent's sessions: what was said, thought and done. Run it again at any time, also while the agent works: only
sessions that changed are read, and only what is new in them is filed. Transcripts are kept in ~/.cache/mempalace-session.
\`mempalace-session\` is the same.

  --from WHO            whose sessions (default opencode)
  --session ID          only this one; may be given again
  --since T             only what changed since: 2026-01-31, an ISO time, or 12h, 7d
  --extract HOW         exchange (default): all that was said; general: the memories in it, by their kind
  --limit N             file at most N sessions
  --min-messages N      leave out sessions with fewer messages (default ${MESSAGES_MIN})
  --wing W              file into wing W (else: the wing of each session's project)
  --db FILE, --dir DIR  opencode's database; the folder of the others' sessions
  --include-subagents   also the sessions of subagents
  --dry-run             say what would be filed, change nothing
  --no-repair           accepted for older scripts: nothing has to be repaired after filing
  --force               read and send everything again; what the palace holds already is kept
  --quiet               no progress, no summary`,
  options: {
    ...FEED_OPTIONS,
    from: { type: "string" },
    session: { type: "string", multiple: true },
    since: { type: "string" },
    "min-messages": { type: "string" },
    extract: { type: "string" },
    db: { type: "string" },
    dir: { type: "string" },
    "include-subagents": { type: "boolean" },
    "no-repair": { type: "boolean" },
  },
  args: [0, 0],
  place: feedPlace,
  run: async ({ values, config, out }) => {
    const harness = HARNESSES.find((name) => name === (values.from ?? "opencode"));
    if (harness === undefined)
      throw new PalaceError("CONFIG_USAGE", `--from does not know ${values.from}`, `--from ${HARNESSES.join("|")}`);
    const isQuiet = values.quiet === true;
    const dryRun = values["dry-run"] === true;
    const options = {
      ...{ harness, wing: values.wing, dryRun, force: values.force === true, sessions: values.session ?? [] },
      ...{ limit: readCount(values.limit, "limit", 0), extract: readExtract(values.extract), filing: config.filing() },
      minMessages: readCount(values["min-messages"], "min-messages", MESSAGES_MIN),
      sinceMs: values.since === undefined ? undefined : readTime(values.since, "since", Date.now()),
      agent: values.agent ?? config.agentName ?? "mempalace",
      ...placeOf(config),
    };
    const source = await openSource(harness, config, {
      path: harness === "opencode" ? values.db : values.dir,
      includeSubagents: values["include-subagents"] === true,
    });
    const isWatched = values.progress === true;
    const { watch, end, onStop } = feedWatch(out, isQuiet, isWatched);
    try {
      const report = await withInterrupt(
        async (signal) => {
          const caller = await connect(config, "mempalace-session", dryRun);
          return feedSessions({ options, source, caller, watch, signal });
        },
        { onStop, isWatched },
      ).finally(end);
      return endMine(out, report, { isQuiet, command: "mempalace-session", print: printReport });
    } finally {
      source.close();
    }
  },
});

function printReport(report: SessionReport, out: Output): void {
  const short = report.tooShort === 0 ? "" : `, ${report.tooShort} with too few messages`;
  // Users of 1.x alone need no word about it.
  const generations = Object.entries(report.generations ?? {}).map(([name, count]) => `${count} of ${name}`);
  const from = report.generations?.["opencode 2"] === undefined ? "" : `, ${generations.join(" and ")}`;
  printOutcome(
    report,
    out,
    `${plural(report.sessions, "session")} in ${plural(report.wings.length, "wing")}${from}${short}`,
  );
}
