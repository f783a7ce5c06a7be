/** `palace mine convos DIR`: files the transcripts of conversations with agents and people. */
import { dirname, join } from "node:path";
import { feedTranscripts } from "../../feeders/convo-miner/feed.ts";
import { surveyTranscripts, wingOf } from "../../feeders/convo-miner/source.ts";
import { connect, FEED_OPTIONS, feedPlace, feedWatch, placeOf, withInterrupt } from "../feeding/feeding.ts";
import { endMine, printOutcome, readExtract } from "../feeding/mining.ts";
import { plural, printable } from "../terminal/output.ts";
import { defineVerb, readCount } from "../verb.ts";

export const verb = defineVerb({
  usage: `palace mine convos DIR [--wing W] [--extract HOW] [--limit N] [--include-subagents] [--dry-run] [--force] [--quiet]

Files transcripts: Claude Code, Codex, Gemini and pi sessions, exports of Claude.ai, ChatGPT, Slack and Continue, and plain
text (.txt .md .json .jsonl). DIR may be one file. Run it again at any time: a transcript that grew is read on from where it
stopped, and only what is new in it is filed. What vanishes from DIR stays in the palace.

  --wing W              file into wing W (else: wing_api for the folders of coding agents, or the folder's name)
  --extract HOW         exchange (default): all that was said; general: decisions, preferences, milestones, problems and
                        feelings, each in the room of its kind; both may be filed of the same transcripts
  --limit N             file at most N transcripts
  --include-subagents   also what is in folders named subagents
  --agent NAME          who it is filed by
  --dry-run             say what would be filed, change nothing
  --force               send everything again; what the palace holds already is kept
  --quiet               no progress, no summary`,
  options: {
    ...FEED_OPTIONS,
    extract: { type: "string" },
    "include-subagents": { type: "boolean" },
  },
  args: [1, 1],
  place: feedPlace,
  run: async ({ values, args, config, out }) => {
    const isQuiet = values.quiet === true;
    const dryRun = values["dry-run"] === true;
    const survey = surveyTranscripts(args[0] ?? "", values["include-subagents"] === true);
    const wing = wingOf(survey.root, values.wing);
    const { cacheDir, palace } = placeOf(config);
    const isWatched = values.progress === true;
    const { watch, end, onStop } = feedWatch(out, isQuiet, isWatched);
    const limit = readCount(values.limit, "limit", 0);
    const agent = values.agent ?? config.agentName ?? "mempalace";
    const report = await withInterrupt(
      async (signal) =>
        feedTranscripts({
          options: {
            ...{ wing, dryRun, force: values.force === true, limit, agent },
            ...{ extract: readExtract(values.extract), filing: config.filing() },
          },
          place: { home: join(dirname(cacheDir), "mempalace-convos"), root: survey.root, palace },
          files: survey.files,
          folder: survey.root,
          nameOf: (sourceFile) => sourceFile,
          caller: await connect(config, "palace mine convos", dryRun),
          watch,
          signal,
        }),
      { onStop, isWatched },
    ).finally(end);
    report.skipped.unshift(...survey.skipped);
    report.failed += survey.unreadable;
    return endMine(out, report, {
      isQuiet,
      command: "palace mine convos",
      print: (done) => printOutcome(done, out, `${printable(done.wing)}: ${plural(done.files, "transcript")}`),
    });
  },
});
