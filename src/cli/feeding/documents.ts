/** Code shared by the commands that file documents. Imported by verbs/docs.ts, verbs/projects.ts and verbs/formats.ts. */
import { dirname, join } from "node:path";
import type { parseArgs } from "node:util";
import type { Config } from "../../config/config.ts";
import { feedDocuments } from "../../feeders/doc-miner/file-documents.ts";
import type { FeedOptions, FeedReport } from "../../feeders/doc-miner/run.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import { readCount } from "../define-verb.ts";
import { placeOf } from "./feeding.ts";
import { type FEED_OPTIONS, runMine } from "./mining.ts";

type Values = ReturnType<typeof parseArgs<{ options: typeof FEED_OPTIONS }>>["values"];
type Common =
  | "wing"
  | "limit"
  | "dryRun"
  | "force"
  | "agent"
  | "filing"
  | "registryFile"
  | "cacheDir"
  | "palace"
  | "avoid";

export type DocumentsCommand = {
  command: string;
  values: Values;
  config: Config;
  out: Output;
  options: Omit<FeedOptions, Common> & Partial<Pick<FeedOptions, "wing">>;
};

/** Returns the exit code. Errors: CONFIG_USAGE. */
export function mineDocuments({ options, ...command }: DocumentsCommand): Promise<number> {
  const { values, config, out } = command;
  const { front } = options;
  const { paths } = config;
  const staging = ["mempalace-docs", "mempalace-projects"].map((name) => join(dirname(paths.cacheDir), name));
  const all: FeedOptions = {
    ...options,
    ...{ wing: values.wing ?? options.wing, limit: readCount(values.limit, "limit", 0) },
    ...{ dryRun: values["dry-run"] === true, force: values.force === true },
    agent: values.agent ?? config.agentName ?? (front.isStaged ? "mempalace-docs" : "mempalace"),
    ...placeOf(config),
    filing: config.filing(),
    registryFile: paths.knownEntitiesFile,
    avoid: [paths.home, paths.palaceDir, ...staging],
  };
  return runMine({
    ...command,
    source: "path",
    run: (run) => feedDocuments({ ...run, options: all }),
    printSum: (report) => printSum(report, front, out),
  });
}

/** Printed for a folder that holds no file of the kind. */
const TAKES: Readonly<Record<FeedOptions["front"]["name"], string>> = {
  docs: "documentation (md, rst, txt, yaml, toml, scripts, Dockerfiles …); source code too: palace mine projects DIR",
  projects: "text and source code, but what .gitignore names; office documents: palace mine formats DIR",
  formats: "office documents (pdf docx pptx xlsx rtf epub); text: palace mine docs DIR or palace mine projects DIR",
};

function printSum(report: FeedReport, front: FeedOptions["front"], out: Output): void {
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
}
