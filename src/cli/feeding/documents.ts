/**
 * Code shared by the commands that file documents: a run with its progress and summary. Imported by verb/docs.ts,
 * verb/projects.ts and verb/formats.ts.
 */
import { dirname, join } from "node:path";
import type { parseArgs } from "node:util";
import type { Config } from "../../config/config.ts";
import { feedDocuments } from "../../feeders/doc-miner/feed.ts";
import type { FeedOptions, FeedReport } from "../../feeders/doc-miner/run.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import { readCount } from "../verb.ts";
import {
  connect,
  EXIT_INTERRUPTED,
  EXIT_PARTIAL,
  INTERRUPTED,
  type FEED_OPTIONS,
  feedWatch,
  placeOf,
  SKIPS_SHOWN_MAX,
  withInterrupt,
} from "./feeding.ts";

export type DocumentsOptions = Omit<
  FeedOptions,
  "agent" | "filing" | "registryFile" | "cacheDir" | "palace" | "avoid"
> & {
  agent: string | undefined;
  isQuiet: boolean;
  isWatched: boolean;
};

type Values = ReturnType<typeof parseArgs<{ options: typeof FEED_OPTIONS }>>["values"];

/** Reads the options that they share. Errors: CONFIG_USAGE. */
export function readDocuments<F extends FeedOptions["front"]>(front: F, values: Values, [dir = ""]: readonly string[]) {
  return {
    ...{ front, dir, wing: values.wing, agent: values.agent, limit: readCount(values.limit, "limit", 0) },
    ...{ dryRun: values["dry-run"] === true, force: values.force === true },
    ...{ isQuiet: values.quiet === true, isWatched: values.progress === true },
  };
}

/** Returns the exit code. */
export async function mineDocuments(
  command: string,
  options: DocumentsOptions,
  config: Config,
  out: Output,
): Promise<number> {
  const { isQuiet, isWatched, agent, ...given } = options;
  const { watch, end, onStop } = feedWatch(out, isQuiet, isWatched);
  const { paths } = config;
  const staging = ["mempalace-docs", "mempalace-projects"].map((name) => join(dirname(paths.cacheDir), name));
  const report = await withInterrupt(
    (signal) =>
      feedDocuments({
        options: {
          ...given,
          agent: agent ?? config.agentName ?? (given.front.isStaged ? "mempalace-docs" : "mempalace"),
          ...placeOf(config),
          filing: config.filing(),
          registryFile: paths.knownEntitiesFile,
          avoid: [paths.home, paths.palaceDir, ...staging],
        },
        connect: () => connect(config, command, given.dryRun),
        signal,
        watch,
      }),
    { onStop, isWatched },
  ).finally(end);
  if (out.isJson) out.document(toDocument(report));
  else if (!isQuiet) printReport(report, given.front, out);
  if (report.interrupted) return EXIT_INTERRUPTED;
  if (report.failed === 0) return 0;
  if (!out.isJson) {
    out.notice(`${command}: ${plural(report.failed, "path")} could not be read or filed`);
    out.notice("  correct them and run it again");
  }
  return EXIT_PARTIAL;
}

function toDocument({ wing, files, filed, unchanged, removed, skipped, drawers, ...rest }: FeedReport): object {
  const document = { wing, files, filed, unchanged, removed, skipped, drawers };
  if (rest.dryRun) return { ...document, dryRun: true, wouldFile: rest.wouldFile, wouldRemove: rest.wouldRemove };
  if (rest.interrupted) return { ...document, interrupted: true };
  if (rest.failed === 0) return document;
  const message = `${plural(rest.failed, "path")} could not be read or filed`;
  return { ...document, error: { code: "FEEDER_PARTIAL", message, hint: "correct them and run it again" } };
}

/** Printed for a folder that holds no file of the kind. */
const TAKES: Readonly<Record<FeedOptions["front"]["name"], string>> = {
  docs: "documentation (md, rst, txt, yaml, toml, scripts, Dockerfiles …); source code too: palace mine projects DIR",
  projects: "text and source code, but what .gitignore names; office documents: palace mine formats DIR",
  formats: "office documents (pdf docx pptx xlsx rtf epub); text: palace mine docs DIR or palace mine projects DIR",
};

function printReport(report: FeedReport, front: FeedOptions["front"], out: Output): void {
  for (const path of report.wouldFile ?? []) out.text(`  would file    ${printable(path)}`);
  for (const path of report.wouldRemove ?? []) out.text(`  would remove  ${printable(path)}`);
  for (const { file, reason } of report.skipped.slice(0, SKIPS_SHOWN_MAX))
    out.text(`  skipped       ${printable(file)}: ${printable(reason)}`);
  if (report.skipped.length > SKIPS_SHOWN_MAX)
    out.text(`  skipped       ${report.skipped.length - SKIPS_SHOWN_MAX} more (--json lists all)`);
  const done = report.dryRun
    ? `${report.wouldFile?.length ?? 0} to file, ${report.wouldRemove?.length ?? 0} to remove`
    : `${report.filed} filed (${plural(report.drawers, "drawer")}), ${report.removed} removed`;
  const head = `${printable(report.wing)}: ${plural(report.files, "document")}`;
  out.text(`${head}, ${done}, ${report.unchanged} unchanged, ${report.skipped.length} skipped`);
  if (report.files === 0)
    out.notice(out.spelled(`Nothing in that folder is taken here: this files ${TAKES[front.name]}`));
  const { hallways, tunnels } = report.links ?? { hallways: 0, tunnels: 0 };
  if (hallways + tunnels > 0)
    out.text(`Names that go together: ${plural(hallways, "hallway")}, ${plural(tunnels, "tunnel")} to other wings`);
  if (report.interrupted) out.text(INTERRUPTED);
}
