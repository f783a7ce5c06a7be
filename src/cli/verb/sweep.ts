/** `palace mine sweep DIR`: files every message of Claude Code's transcripts, whole. */
import { surveyTranscripts } from "../../feeders/convo-miner/source.ts";
import { sweepTranscripts } from "../../feeders/convo-miner/sweep.ts";
import {
  connect,
  EXIT_INTERRUPTED,
  EXIT_PARTIAL,
  feedPlace,
  feedWatch,
  INTERRUPTED,
  withInterrupt,
} from "../feeding/feeding.ts";
import { plural } from "../terminal/output.ts";
import { defineVerb, readCount } from "../verb.ts";

export const verb = defineVerb({
  usage: `palace mine sweep DIR [--limit N] [--dry-run] [--quiet]

Files every message of Claude Code's transcripts (.jsonl) in DIR as a drawer of its own, whole: for what exchanges leave out.
DIR may be one file. A message is filed once, however often the command is run.

  --limit N   look through at most N transcripts
  --dry-run   count the messages, change nothing
  --quiet     no progress, no summary`,
  options: {
    limit: { type: "string" },
    "dry-run": { type: "boolean" },
    quiet: { type: "boolean" },
    progress: { type: "boolean" },
  },
  args: [1, 1],
  place: feedPlace,
  run: async ({ values, args, config, out }) => {
    const [isQuiet, isDry, isWatched] = [values.quiet === true, values["dry-run"] === true, values.progress === true];
    // Upstream sweeps subagents' messages as well.
    const survey = surveyTranscripts(args[0] ?? "", true);
    const { watch, end, onStop } = feedWatch(out, isQuiet, isWatched);
    const report = await withInterrupt(
      async (signal) =>
        sweepTranscripts({
          files: survey.files.filter(({ path }) => path.endsWith(".jsonl")),
          limit: readCount(values.limit, "limit", 0),
          caller: isDry ? undefined : await connect(config, "palace mine sweep", false),
          ...{ watch, signal },
        }),
      { onStop, isWatched },
    ).finally(end);
    const { files, messages, added, changed, present, failed } = report;
    if (out.isJson) out.document(report);
    else if (!isQuiet)
      out.text(
        isDry
          ? `${plural(files, "transcript")}, ${plural(messages, "message")}`
          : `${plural(files, "transcript")}, ${plural(messages, "message")}: ${added} added, ${changed} changed, ${present} there already`,
      );
    if (report.interrupted) {
      if (!out.isJson && !isQuiet) out.text(INTERRUPTED);
      return EXIT_INTERRUPTED;
    }
    if (failed === 0) return 0;
    if (!out.isJson) out.notice(`palace mine sweep: ${plural(failed, "transcript")} could not be read or filed`);
    return EXIT_PARTIAL;
  },
});
