/** `palace mine sweep DIR` files every message of Claude Code's transcripts as a drawer. */
import { surveyTranscripts } from "../../feeders/convo-miner/source.ts";
import { sweepTranscripts } from "../../feeders/convo-miner/sweep.ts";
import { feedPlace, MINE_OPTIONS, runMine } from "../feeding/mining.ts";
import { plural } from "../terminal/output.ts";
import { defineVerb, readCount } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace mine sweep DIR [--limit N] [--dry-run] [--quiet]

Files every message of Claude Code's transcripts (.jsonl) in DIR as a drawer of its own, whole, because exchanges leave parts out.
DIR may be one file. A message is filed once, however often the command is run.

  --limit N   look through at most N transcripts
  --dry-run   count the messages, change nothing
  --quiet     no progress, no summary`,
  options: MINE_OPTIONS,
  args: [1, 1],
  place: feedPlace,
  run: ({ values, args: [dir = ""], config, out }) => {
    // Upstream also sweeps subagents' messages.
    const survey = surveyTranscripts(dir, true);
    const limit = readCount(values.limit, "limit", 0);
    return runMine({
      ...{ command: "palace mine sweep", values, config, out, source: "transcript" },
      run: async ({ connect, watch, signal }) =>
        sweepTranscripts({
          ...{ limit, files: survey.files.filter(({ path }) => path.endsWith(".jsonl")) },
          ...{ caller: values["dry-run"] === true ? undefined : await connect(), watch, signal },
        }),
      printSum: ({ files, messages, added, changed, present, dryRun }) => {
        const done = dryRun ? "" : `: ${added} added, ${changed} changed, ${present} there already`;
        out.text(`${plural(files, "transcript")}, ${plural(messages, "message")}${done}`);
      },
      document: (report) => report,
    });
  },
});
