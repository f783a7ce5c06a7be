/** `mempalace-docs DIR`, `palace mine docs DIR`: files the documentation of a project. */
import { dirname, join } from "node:path";
import { feedDocuments } from "../../feeder/doc-miner/feed.ts";
import type { FeedReport } from "../../feeder/doc-miner/run.ts";
import {
  connect,
  EXIT_INTERRUPTED,
  EXIT_PARTIAL,
  feedWatch,
  placeOf,
  SKIPS_SHOWN_MAX,
  withInterrupt,
} from "../feeding.ts";
import { type Output, plural, printable } from "../output.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  usage: `mempalace-docs DIR [--wing W] [--dry-run] [--force] [--quiet]

Files the documentation of a project (markdown, text, YAML, TOML, shell scripts, build recipes, licences; never source
code, lockfiles or what .gitignore names). Run it again at any time: only what changed is filed, what vanished is removed.
The wing and rooms come from DIR/mempalace.yaml if there is one.

  --wing W    file into wing W
  --dry-run   say what would be done, change nothing
  --force     file everything again
  --quiet     no progress, no summary
To ask about one file: mempalace-docs why FILE`,
  options: {
    wing: { type: "string" },
    "dry-run": { type: "boolean" },
    force: { type: "boolean" },
    quiet: { type: "boolean" },
  },
  args: [1, 1],
  run: async ({ values, args, config, out }) => {
    const isQuiet = values.quiet === true;
    const isDry = values["dry-run"] === true;
    const { watch, end } = feedWatch(out, isQuiet);
    const report = await withInterrupt((signal) =>
      feedDocuments({
        options: {
          dir: args[0] ?? "",
          wing: values.wing,
          dryRun: isDry,
          force: values.force === true,
          agent: config.agentName ?? "mempalace-docs",
          ...placeOf(config),
          avoid: [config.paths.home, config.paths.palaceDir, join(dirname(config.paths.cacheDir), "mempalace-docs")],
        },
        connect: () => connect(config, "mempalace-docs", isDry),
        signal,
        watch,
      }),
    ).finally(end);
    if (out.isJson) out.document(toDocument(report));
    else if (!isQuiet) printReport(report, out);
    if (report.interrupted) return EXIT_INTERRUPTED;
    if (report.failed === 0) return 0;
    if (!out.isJson)
      out.notice(
        `mempalace-docs: ${plural(report.failed, "path")} could not be read or filed\n  correct them and run it again`,
      );
    return EXIT_PARTIAL;
  },
});

function toDocument({ wing, files, filed, unchanged, removed, skipped, drawers, ...rest }: FeedReport): object {
  const document = { wing, files, filed, unchanged, removed, skipped, drawers };
  if (rest.dryRun) return { ...document, dryRun: true, wouldFile: rest.wouldFile, wouldRemove: rest.wouldRemove };
  if (rest.interrupted) return { ...document, interrupted: true };
  if (rest.failed === 0) return document;
  const message = `${plural(rest.failed, "path")} could not be read or filed`;
  return { ...document, error: { code: "FEEDER_PARTIAL", message, hint: "correct them and run it again" } };
}

function printReport(report: FeedReport, out: Output): void {
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
  if (report.interrupted) out.text("Interrupted. Run the same command again to file the rest.");
}
