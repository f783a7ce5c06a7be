/** Implements `mempalace-docs DIR` and `palace mine docs|projects|formats DIR`, which file a folder's documents. */
import { realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { quoted } from "../../base/shell-word.ts";
import type { Config } from "../../config/config.ts";
import { CONVERSION, Converter } from "../../feeders/converter.ts";
import { feedDocuments } from "../../feeders/doc-miner/file-documents.ts";
import { DOCS, FORMATS, PROJECTS } from "../../feeders/doc-miner/kinds-of-run.ts";
import { filedElsewhere, findRoot } from "../../feeders/doc-miner/root.ts";
import type { FeedOptions, FeedReport } from "../../feeders/doc-miner/run.ts";
import { SOURCE_CALL_MAX_BYTES } from "../../protocol/limits.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";
import { placeOf } from "../feeding/feeding.ts";
import { FEED_OPTIONS, feedOptions, feedPlace, type FeedValues, runMine } from "../feeding/mining.ts";
import { type Output, plural, printable } from "../terminal/output.ts";

export const verb = defineVerb({
  usage: `palace mine docs DIR|FILE [--wing W] [--limit N] [--dry-run] [--force] [--quiet]

Files the documentation of a project (markdown, text, YAML, TOML, shell scripts, build recipes, licences; never source
code, lockfiles or ignored files). Run it again at any time: it files changed documents and removes deleted ones.
With FILE, it files only that document. The wing and rooms come from DIR/mempalace.yaml if there is one. \`mempalace-docs DIR\` is the same.

  --wing W    file into wing W
  --limit N   file at most N documents
  --agent NAME  record NAME as who filed it
  --dry-run   say what would be done, change nothing
  --force     file everything again
  --quiet     no progress, no summary
To ask about one file: palace mine why FILE`,
  options: FEED_OPTIONS,
  args: [1, 1],
  place: feedPlace,
  run: async ({ values, args: [given = ""], config, out }) => {
    const { dir, only, wing } = targetOf(given, config.paths.cacheDir);
    const options = { front: DOCS, dir, wing, drawersMax: 0, ignoreFiles: true, include: [], only };
    if (only === undefined && values.quiet !== true)
      for (const { root, wing: other, files } of filedElsewhere(dir, values.wing, placeOf(config)))
        out.notice(`${plural(files, "file")} of ${root} are in wing ${other} already and stay there`);
    const code = await mineDocuments({ command: "mempalace-docs", values, config, out, options });
    if (only !== undefined && code === 0 && !out.isJson) out.hint(`about this file: palace mine why ${quoted(given)}`);
    return code;
  },
});

/** Returns what to mine: a folder as given, or for a file its project's folder and the file's path in it (`only`). */
function targetOf(given: string, cacheDir: string): { dir: string; only?: string; wing?: string | undefined } {
  if (statSync(given, { throwIfNoEntry: false })?.isFile() !== true) return { dir: given };
  const file = realpathSync(given);
  const { root, from } = findRoot(file, { dir: undefined, cacheDir });
  return { dir: root, only: relative(root, file).split(sep).join("/"), wing: from.wing };
}

export const projects = defineVerb({
  usage: `palace mine projects DIR [--wing W] [--limit N] [--max-chunks-per-file N]
    [--include-ignored PATHS] [--no-gitignore] [--dry-run] [--force] [--quiet]

Files a project as MemPalace does: text and source code, under the paths the files have, routed to wing and rooms by
DIR/mempalace.yaml (else a wing of the folder's name, room general). Run it again at any time: only what changed is filed.
Drawers of deleted files stay in the palace until \`mempalace_sync\` removes them. For documentation alone: palace mine docs DIR.

  --wing W                 file into wing W
  --limit N                file at most N files
  --max-chunks-per-file N  leave out files that would become more than N drawers (default 50000; 0 = no limit)
  --include-ignored PATHS  file these ignored paths in DIR, separated by commas; may be given again
  --no-gitignore           file what .gitignore names, too
  --agent NAME             record NAME as who filed it
  --dry-run                say what would be filed, change nothing
  --force                  file everything again
  --quiet                  no progress, no summary`,
  options: { ...FEED_OPTIONS, ...options("max-chunks-per-file= include-ignored=... no-gitignore") },
  args: [1, 1],
  place: feedPlace,
  run: ({ values, args: [dir = ""], config, out }) => {
    const options = {
      ...{ front: PROJECTS, dir },
      drawersMax: readCount(values["max-chunks-per-file"], "max-chunks-per-file", config.chunksMax),
      ignoreFiles: values["no-gitignore"] !== true,
      include: (values["include-ignored"] ?? []).flatMap((one) => one.split(",")),
    };
    return mineDocuments({ command: "palace mine projects", values, config, out, options });
  },
});

export const formats = defineVerb({
  usage: `palace mine formats DIR [--wing W] [--limit N] [--max-chunks-per-file N] [--dry-run] [--force] [--quiet]

Files office documents: .pdf .docx .pptx .xlsx .rtf .epub, as text, under the paths the files have. They are converted on this
machine, without other programs and without the network; pictures of text are not read. The wing has the folder's name, and
DIR/mempalace.yaml names the rooms. Run it again at any time: only what changed is filed. Drawers of deleted files stay
in the palace until \`mempalace_sync\` removes them.

  --wing W                 file into wing W
  --limit N                file at most N documents
  --max-chunks-per-file N  leave out documents that would become more than N drawers (default 0: no limit)
  --agent NAME             record NAME as who filed it
  --dry-run                say what would be filed, change nothing
  --force                  file everything again, and try again what could not be converted
  --quiet                  no progress, no summary`,
  options: { ...FEED_OPTIONS, ...options("max-chunks-per-file=") },
  args: [1, 1],
  place: feedPlace,
  run: async ({ values, args: [dir = ""], config, out }) => {
    const converter = new Converter({ ...CONVERSION, textMax: SOURCE_CALL_MAX_BYTES });
    const options = {
      ...{ front: FORMATS, dir },
      read: (root: string, path: string) => converter.read(join(root, path)),
      sizeMaxBytes: CONVERSION.sizeMax,
      drawersMax: readCount(values["max-chunks-per-file"], "max-chunks-per-file", 0),
      ...{ ignoreFiles: false, include: [] },
    };
    try {
      return await mineDocuments({ command: "palace mine formats", values, config, out, options });
    } finally {
      await converter.close();
    }
  },
});

/** Options of a run that do not depend on the command. */
type Common = keyof ReturnType<typeof feedOptions> | keyof ReturnType<typeof placeOf> | "registryFile" | "avoid";

type DocumentsCommand = {
  command: string;
  values: FeedValues;
  config: Config;
  out: Output;
  options: Omit<FeedOptions, Common> & Partial<Pick<FeedOptions, "wing">>;
};

function mineDocuments({ options, ...command }: DocumentsCommand): Promise<number> {
  const { values, config, out } = command;
  const { front } = options;
  const { paths } = config;
  const staging = ["mempalace-docs", "mempalace-projects"].map((name) => join(dirname(paths.cacheDir), name));
  const all: FeedOptions = {
    ...options,
    ...feedOptions(values, config, { agent: front.isStaged ? "mempalace-docs" : "mempalace" }),
    ...placeOf(config),
    wing: values.wing ?? options.wing,
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

/** Kinds of files that each command accepts. The command prints them if the folder has no such file. */
const TAKES: Readonly<Record<FeedOptions["front"]["name"], string>> = {
  docs: "documentation (md, rst, txt, yaml, toml, scripts, Dockerfiles …); source code too: palace mine projects DIR",
  projects: "text and source code, except files that .gitignore names; office documents: palace mine formats DIR",
  formats: "office documents (pdf docx pptx xlsx rtf epub); text: palace mine docs DIR or palace mine projects DIR",
};

function printSum(report: FeedReport, front: FeedOptions["front"], out: Output): void {
  const done = report.dryRun
    ? `${report.wouldFile?.length ?? 0} to file, ${report.wouldRemove?.length ?? 0} to remove`
    : `${report.filed} filed (${plural(report.drawers, "drawer")}), ${report.removed} removed`;
  const head = `${printable(report.wing)}: ${plural(report.files, "document")}`;
  out.text(`${head}, ${done}, ${report.unchanged} unchanged, ${report.skipped.length} skipped`);
  if (report.files === 0) out.hint(`No file in that folder is filed; this command files ${TAKES[front.name]}`);
  const { hallways, tunnels } = report.links ?? { hallways: 0, tunnels: 0 };
  if (hallways + tunnels > 0)
    out.text(`Links between names: ${plural(hallways, "hallway")}, ${plural(tunnels, "tunnel")} to other wings`);
}
