/** `mempalace sync [DIR]`: drawers whose source files are gone or ignored by now. */
import { resolve } from "node:path";
import { connectClient } from "../../client/client.ts";
import { EXIT_CODES, PalaceError } from "../../protocol/errors.ts";
import { defineVerb } from "../verb.ts";
import { banner, explainNoPalace } from "./format.ts";

const RULE = "-".repeat(55);
const SOURCES_SHOWN_MAX = 5;

type Report = {
  success?: boolean;
  error?: string;
  scanned: number;
  kept: number;
  gitignored: number;
  missing: number;
  unresolved?: number;
  no_source: number;
  out_of_scope: number;
  removed_drawers: number;
  removed_closets: number;
  by_source: Record<string, number>;
};

export const verb = defineVerb({
  usage: `mempalace sync [DIR] [--wing W] [--root P] [--dry-run | --apply]

Tells which drawers have a source file that is gone or ignored by git now; --apply deletes them, and needs a wing or a folder.`,
  options: {
    wing: { type: "string" },
    root: { type: "string", multiple: true },
    "dry-run": { type: "boolean" },
    apply: { type: "boolean" },
  },
  args: [0, 1],
  run: async ({ values: { wing, root = [], apply = false }, args, config, out }) => {
    const roots = [...args, ...root].map((path) => resolve(path));
    if (roots.length > 1)
      throw new PalaceError("ENGINE_UNSUPPORTED", "one folder at a time", "run it once for each: mempalace sync DIR");
    const [project] = roots;
    const client = await connectClient({ config, agent: "mempalace sync", start: "auto" });
    const report = (await client
      .callTool("mempalace_sync", {
        apply,
        ...(wing !== undefined && { wing }),
        ...(project !== undefined && { project_dir: project }),
      })
      .finally(() => client.close())) as Report;
    if (out.isJson) out.document(report);
    if (report.success === false) {
      if (!out.isJson) out.notice(`mempalace: ${report.error ?? ""}`);
      return EXIT_CODES.CONFIG;
    }
    if (out.isJson) return 0;
    if (report.error !== undefined) explainNoPalace(out, config.paths.palaceDir);
    else print(report, apply, [config.paths.palaceDir, wing, project], out);
    return 0;
  },
});

function print(
  report: Report,
  apply: boolean,
  [palace, wing, project]: [string, string | undefined, string | undefined],
  out: Parameters<typeof banner>[0],
): void {
  banner(out, ["MemPalace Sync — Gitignore-aware drawer prune"]);
  out.text(`  Palace:   ${palace}`);
  if (wing !== undefined) out.text(`  Wing:     ${wing}`);
  if (project !== undefined) out.text(`  Project:  ${project}`);
  out.text(`  Mode:     ${apply ? "APPLY (deleting drawers)" : "DRY RUN (no deletions)"}\n${RULE}\n`);
  const done = apply ? "(removed)" : "(would remove)";
  const rows: [string, number, string][] = [
    ["Scanned:", report.scanned, ""],
    ["Kept:", report.kept, ""],
    ["Gitignored:", report.gitignored, done],
    ["Missing:", report.missing, done],
    ["No source:", report.no_source, "(kept)"],
    ["Out of scope:", report.out_of_scope, "(kept)"],
    ...(report.unresolved === undefined
      ? []
      : [["Unresolved:", report.unresolved, "(kept)"] as [string, number, string]]),
  ];
  for (const [name, count, what] of rows) out.text(`  ${name.padEnd(16)}${count}${what === "" ? "" : `  ${what}`}`);
  const sources = Object.entries(report.by_source).sort(([, a], [, b]) => b - a);
  if (sources.length > 0) out.text(`\n  Top sources ${apply ? "removed" : "to remove"}:`);
  for (const [source, count] of sources.slice(0, SOURCES_SHOWN_MAX)) out.text(`    ${source}  (${count})`);
  if (apply) out.text(`\n  Removed ${report.removed_drawers} drawers, ${report.removed_closets} closets.`);
  else if (report.gitignored + report.missing > 0) out.text("\n  Re-run with --apply to commit these deletions.");
  out.text(`\n${"=".repeat(55)}\n`);
}
