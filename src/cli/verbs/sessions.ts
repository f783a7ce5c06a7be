/** Implements `mempalace-session` and `palace mine sessions`, which file sessions of opencode, Claude Code or pi. */
import { feedSessions, type SessionReport } from "../../feeders/session-miner/file-sessions.ts";
import { openSource } from "../../feeders/session-miner/open.ts";
import type { HarnessName } from "../../feeders/session-miner/session.ts";
import { placeOf } from "../feeding/feeding.ts";
import { FEED_OPTIONS, feedOptions, feedPlace, readExtract, runMine, transcriptsDone } from "../feeding/mining.ts";
import { plural } from "../terminal/output.ts";
import { readTime } from "../terminal/time.ts";
import { defineVerb, options, readChoice, readCount } from "../define-verb.ts";

/** Minimum number of messages in a session to file, unless the user gives another number. */
const MESSAGES_MIN = 3;

const HARNESSES: readonly HarnessName[] = ["opencode", "claude-code", "pi"];

export const verb = defineVerb({
  usage: `palace mine sessions [--from opencode|claude-code|pi] [--session ID] [--since T] [--min-messages N] [--wing W]

Files an agent's sessions: messages, thoughts and tool calls. Run it again at any time, even while the agent works: it reads only
sessions that changed, and files only what is new. Transcripts are kept in ~/.cache/mempalace-session.
\`mempalace-session\` is the same.

  --from WHO            whose sessions (default opencode)
  --session ID          only this one; may be given again
  --since T             only what changed since: 2026-01-31, an ISO time, or 12h, 7d
  --extract HOW         exchange (default): the whole conversation; general: its memories, by their kind
  --limit N             file at most N sessions
  --min-messages N      leave out sessions with fewer messages (default ${MESSAGES_MIN})
  --wing W              file into wing W (else: the wing of each session's project)
  --db FILE, --dir DIR  opencode's database; the folder of the others' sessions
  --include-subagents   also the sessions of subagents
  --dry-run             say what would be filed, change nothing
  --no-repair           accepted for older scripts: nothing has to be repaired after filing
  --force               read and send everything again; existing drawers are kept
  --quiet               no progress, no summary`,
  options: {
    ...FEED_OPTIONS,
    ...options("from= session=... since= min-messages= extract= db= dir= include-subagents no-repair"),
  },
  place: feedPlace,
  run: async ({ values, config, out }) => {
    const harness = readChoice(values.from, "from", HARNESSES, "opencode");
    const options = {
      ...feedOptions(values, config),
      ...{ harness, sessions: values.session ?? [], extract: readExtract(values.extract) },
      minMessages: readCount(values["min-messages"], "min-messages", MESSAGES_MIN),
      sinceMs: values.since === undefined ? undefined : readTime(values.since, "since", Date.now()),
      ...placeOf(config),
    };
    const source = await openSource(harness, config, {
      path: harness === "opencode" ? values.db : values.dir,
      includeSubagents: values["include-subagents"] === true,
    });
    try {
      return await runMine({
        ...{ command: "mempalace-session", values, config, out, source: "transcript" },
        run: async ({ connect, watch, signal }) =>
          feedSessions({ options, source, caller: await connect(), watch, signal }),
        printSum: (report) => out.text(sumOf(report)),
      });
    } finally {
      source.close();
    }
  },
});

function sumOf(report: SessionReport): string {
  const short = report.tooShort === 0 ? "" : `, ${report.tooShort} with too few messages`;
  // Names the generations of opencode (1 and 2) only if there are sessions of opencode 2.
  const generations = Object.entries(report.generations ?? {}).map(([name, count]) => `${count} of ${name}`);
  const from = report.generations?.["opencode 2"] === undefined ? "" : `, ${generations.join(" and ")}`;
  const head = `${plural(report.sessions, "session")} in ${plural(report.wings.length, "wing")}${from}${short}`;
  return transcriptsDone(report, head);
}
