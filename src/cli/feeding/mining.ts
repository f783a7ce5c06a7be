/** Runs a mining command for any kind of source, and provides the shared options, progress, Ctrl-C, the report and the exit code. */
import type { Config } from "../../config/config.ts";
import type { FeedWatch, RunReport } from "../../feeders/run.ts";
import type { Caller } from "../../feeders/send.ts";
import { EXTRACT_MODES, type ExtractMode } from "../../protocol/filing.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import type { Place } from "../terminal/place.ts";
import { Progress } from "../terminal/progress.ts";
import { options, readChoice, readCount, type Values } from "../define-verb.ts";
import { connect, EXIT_INTERRUPTED, withInterrupt } from "./feeding.ts";

export const EXIT_PARTIAL = 8;
const SKIPS_SHOWN_MAX = 20;

/** Options of all commands that file something. `progress` prints the progress for a program. */
export const MINE_OPTIONS = options("limit= dry-run quiet progress");

/** Options of commands that file changed sources. */
export const FEED_OPTIONS = { ...MINE_OPTIONS, ...options("wing= agent= force") };

export type FeedValues = Values<typeof FEED_OPTIONS>;

/** `usual`: default agent and limit. Errors: CONFIG_USAGE. */
export function feedOptions(values: FeedValues, config: Config, usual: { agent?: string; limit?: number } = {}) {
  return {
    ...{ wing: values.wing, dryRun: values["dry-run"] === true, force: values.force === true },
    limit: readCount(values.limit, "limit", usual.limit ?? 0),
    agent: values.agent ?? config.agentName ?? usual.agent ?? "mempalace",
    filing: config.filing(),
  };
}

/** Returns which palaces --palace accepts: for filing also a new palace, for a dry run any folder. */
export function feedPlace({ values }: { values: { "dry-run"?: boolean | undefined } }): Place {
  return values["dry-run"] === true ? "any" : "anew";
}

type MineRun = {
  connect: () => Promise<Caller | undefined>;
  watch: FeedWatch;
  signal: AbortSignal;
};

export type MineCommand<R> = {
  /** Name of the command in messages, and the client name that the broker gets. */
  command: string;
  values: Values<typeof MINE_OPTIONS>;
  config: Config;
  out: Output;
  run: (run: MineRun) => Promise<R>;
  source: "transcript" | "path" | "commit";
  /** Prints the totals for people, above the notice of an interruption. */
  printSum: (report: R) => void;
  /** Builds the JSON document to print; the default is `documentOf`. */
  document?: (report: R) => object;
};

type Report = Pick<RunReport, "skipped" | "failed" | "interrupted" | "dryRun" | "wouldFile"> & {
  wouldRemove?: string[];
};

export async function runMine<R extends Report>(mine: MineCommand<R>): Promise<number> {
  const { command, values, config, out } = mine;
  const [isQuiet, isWatched] = [values.quiet === true, values.progress === true];
  const { watch, end, onStop } = feedWatch(out, isQuiet, isWatched);
  const connecting = (): Promise<Caller | undefined> => connect(config, command, values["dry-run"] === true);
  const report = await withInterrupt((signal) => mine.run({ connect: connecting, watch, signal }), {
    onStop,
    isWatched,
  }).finally(end);
  const failure = `${plural(report.failed, mine.source)} could not be read or filed`;
  if (out.isJson) out.document((mine.document ?? ((done) => documentOf(done, failure)))(report));
  else if (!isQuiet) {
    printSources(report, out);
    mine.printSum(report);
    if (report.interrupted) out.text("Interrupted. Run the same command again to file the rest.");
  }
  if (report.interrupted) return EXIT_INTERRUPTED;
  if (report.failed === 0) return 0;
  if (!out.isJson) {
    out.notice(`${command}: ${failure}`);
    out.notice("  correct them and run the command again");
  }
  return EXIT_PARTIAL;
}

function documentOf(all: Report & { links?: unknown }, message: string): object {
  const { failed, dryRun, wouldFile, wouldRemove, interrupted, links: _, ...report } = all;
  if (dryRun) return { ...report, dryRun, wouldFile, wouldRemove };
  if (interrupted) return { ...report, interrupted };
  if (failed === 0) return report;
  return { ...report, error: { code: "FEEDER_PARTIAL", message, hint: "correct them and run the command again" } };
}

function printSources({ wouldFile = [], wouldRemove = [], skipped }: Report, out: Output): void {
  for (const name of wouldFile) out.text(`  would file    ${printable(name)}`);
  for (const name of wouldRemove) out.text(`  would remove  ${printable(name)}`);
  for (const { file, reason } of skipped.slice(0, SKIPS_SHOWN_MAX))
    out.text(`  skipped       ${printable(file)}: ${printable(reason)}`);
  if (skipped.length > SKIPS_SHOWN_MAX)
    out.text(`  skipped       ${skipped.length - SKIPS_SHOWN_MAX} more (--json lists all)`);
}

/** Shows progress; with `asLines`, as JSON lines for a program. `end` clears the terminal's progress, `onStop` confirms Ctrl-C. */
function feedWatch(
  out: Output,
  isQuiet: boolean,
  asLines: boolean,
): { watch: FeedWatch; end: () => void; onStop: () => void } {
  if (asLines)
    return {
      onStop: () => {},
      watch: {
        notice: (line) => out.notice(line),
        progress: (done, total, name, drawers) =>
          void process.stderr.write(`${JSON.stringify({ done, total, name, drawers })}\n`),
      },
      end: () => {},
    };
  const progress = new Progress({ silent: isQuiet || out.isJson });
  return {
    watch: {
      notice: (line) => (isQuiet ? undefined : out.notice(line)),
      progress: (done, total, name, drawers) =>
        progress.step(
          done,
          total,
          name,
          drawers === undefined ? undefined : `  + [${done}/${total}] ${name} +${drawers}`,
        ),
    },
    end: () => progress.end(),
    onStop: () => {
      progress.end();
      if (!isQuiet) out.notice("Stopping after the current item is filed; Ctrl-C again stops at once.");
    },
  };
}

export function readExtract(value: string | undefined): ExtractMode {
  return readChoice(value, "extract", EXTRACT_MODES, "exchange");
}

/** Returns the summary of a run for transcripts. `head`: its beginning, such as the number of examined files. */
export function transcriptsDone(report: RunReport & { kept: number }, head: string): string {
  const done = report.dryRun
    ? `${report.wouldFile?.length ?? 0} to file`
    : `${report.filed} filed (${plural(report.drawers, "drawer")} new or changed, ${report.kept} kept)`;
  return `${head}, ${done}, ${report.unchanged} unchanged, ${report.skipped.length} skipped`;
}
