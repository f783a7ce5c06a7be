/** `palace mine convos DIR` files the transcripts of conversations with agents and people. */
import { dirname, join } from "node:path";
import { feedTranscripts } from "../../feeders/convo-miner/file-transcripts.ts";
import { surveyTranscripts, wingOf } from "../../feeders/convo-miner/source.ts";
import { placeOf } from "../feeding/feeding.ts";
import { FEED_OPTIONS, feedOptions, feedPlace, readExtract, runMine, transcriptsDone } from "../feeding/mining.ts";
import { plural, printable } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace mine convos DIR [--wing W] [--extract HOW] [--limit N] [--include-subagents] [--dry-run] [--force] [--quiet]

Files transcripts: Claude Code, Codex, Gemini and pi sessions, exports of Claude.ai, ChatGPT, Slack and Continue, and plain
text (.txt .md .json .jsonl). DIR may be one file. Run it again at any time: it reads a transcript that grew from its last
position, and files only what is new. Drawers of deleted transcripts stay in the palace.

  --wing W              file into wing W (else: wing_api for the folders of coding agents, or the folder's name)
  --extract HOW         exchange (default): the whole conversation; general: decisions, preferences, milestones, problems
                        and feelings, each in a room of its kind; you may file the same transcripts both ways
  --limit N             file at most N transcripts
  --include-subagents   file transcripts in folders named subagents, too
  --agent NAME          record NAME as who filed it
  --dry-run             say what would be filed, change nothing
  --force               send everything again; existing drawers are kept
  --quiet               no progress, no summary`,
  options: { ...FEED_OPTIONS, ...options("extract= include-subagents") },
  args: [1, 1],
  place: feedPlace,
  run: ({ values, args: [dir = ""], config, out }) => {
    const survey = surveyTranscripts(dir, values["include-subagents"] === true);
    const place = { wing: wingOf(survey.root, values.wing), extract: readExtract(values.extract) };
    const options = { ...feedOptions(values, config), ...place };
    const { cacheDir, palace } = placeOf(config);
    return runMine({
      ...{ command: "palace mine convos", values, config, out, source: "transcript" },
      run: async ({ connect, watch, signal }) => {
        const report = await feedTranscripts({
          ...{ options, files: survey.files, folder: survey.root, nameOf: (sourceFile) => sourceFile },
          place: { home: join(dirname(cacheDir), "mempalace-convos"), root: survey.root, palace },
          ...{ caller: await connect(), watch, signal },
        });
        report.skipped.unshift(...survey.skipped);
        report.failed += survey.unreadable;
        return report;
      },
      printSum: (report) =>
        out.text(transcriptsDone(report, `${printable(report.wing)}: ${plural(report.files, "transcript")}`)),
    });
  },
});
