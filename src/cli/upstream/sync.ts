/** `mempalace sync [DIR]` finds drawers whose source files are deleted or ignored. */
import { resolve } from "node:path";
import { EXIT_CODES, wrongUsage } from "../../base/errors.ts";
import { type Output, printable } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";
import { explainNoPalace, isWithoutPalace } from "./format.ts";

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
  unresolved_by_source?: Record<string, number>;
};

export const verb = defineVerb({
  usage: `mempalace sync [DIR] [--wing W] [--root P] [--dry-run | --apply]

Lists drawers whose source file is deleted or ignored by git now; --apply deletes them, and needs a wing or a folder.`,
  options: options("wing= root=... dry-run apply"),
  args: [0, 1],
  place: "any",
  run: async ({ values: { wing, root = [], apply = false }, args, config, connect, out }) => {
    const roots = [...new Set([...args, ...root].map((path) => resolve(path)))];
    const nested = roots.find((path) => roots.some((other) => path.startsWith(`${other}/`)));
    if (nested !== undefined) throw wrongUsage(`${nested} is in another of the folders`, "name only the outer folder");
    if (isWithoutPalace(config, out)) return 0;
    const client = await connect("mempalace sync");
    const reports: Report[] = [];
    for (const project of roots.length > 0 ? roots : [undefined]) {
      const asked = {
        apply,
        ...(wing !== undefined && { wing }),
        ...(project !== undefined && { project_dir: project }),
      };
      reports.push((await client.callTool("mempalace_sync", asked)) as Report);
      if (reports.at(-1)?.error !== undefined) break;
    }
    const report = together(reports);
    if (out.isJson) out.document(report);
    else if (report.success === false) out.notice(`mempalace: ${report.error ?? ""}`);
    else if (report.error !== undefined) explainNoPalace(out, config.paths.palaceDir);
    else print(report, apply, { palace: config.paths.palaceDir, wing, roots }, out);
    return report.success === false ? EXIT_CODES.CONFIG : 0;
  },
});

function print(
  report: Report,
  apply: boolean,
  { palace, wing, roots }: { palace: string; wing: string | undefined; roots: readonly string[] },
  out: Output,
): void {
  const rule = "=".repeat(55);
  out.text(`\n${rule}\n  MemPalace Sync -- Gitignore-aware drawer prune\n${rule}`);
  out.text(`  Palace:   ${palace}`);
  if (wing !== undefined) out.text(`  Wing:     ${wing}`);
  for (const root of roots) out.text(`  Project:  ${root}`);
  out.text(`  Mode:     ${apply ? "APPLY (deleting drawers)" : "DRY RUN (no deletions)"}\n${RULE}\n`);
  const done = apply ? "(removed)" : "(would remove)";
  const rows: [string, number, string][] = [
    ["Scanned:", report.scanned, ""],
    ["Kept:", report.kept, ""],
    ["Gitignored:", report.gitignored, done],
    ["Missing:", report.missing, done],
    ["Unresolved:", report.unresolved ?? 0, "(kept)"],
    ["No source:", report.no_source, "(kept)"],
    ["Out of scope:", report.out_of_scope, "(kept)"],
  ];
  for (const [name, count, what] of rows) out.text(`  ${name.padEnd(16)}${count}${what === "" ? "" : `  ${what}`}`);
  const sources = topOf(report.by_source);
  if (sources.length > 0) out.text(`\n  Top sources ${apply ? "removed" : "to remove"}:\n${sources.join("\n")}`);
  if ((report.unresolved ?? 0) > 0) {
    const unresolved = report.unresolved_by_source ?? {};
    const more = Object.keys(unresolved).length - SOURCES_SHOWN_MAX;
    out.text("\n  Unresolved drawers are kept: nothing here could show their source file is gone.");
    for (const line of topOf(unresolved)) out.text(line);
    if (more > 0) out.text(`    and ${more} more source file(s)`);
  }
  if (apply) out.text(`\n  Removed ${report.removed_drawers} drawers, ${report.removed_closets} closets.`);
  else if (report.gitignored + report.missing > 0) out.text("\n  Re-run with --apply to commit these deletions.");
  out.text(`\n${rule}\n`);
}

function topOf(counts: Readonly<Record<string, number>>): string[] {
  const top = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return top.slice(0, SOURCES_SHOWN_MAX).map(([source, count]) => `    ${printable(source)}  (${count})`);
}

/** Merges the reports of sibling folders. A drawer is out of scope only if its file is in none of the folders. */
function together(reports: readonly Report[]): Report {
  const [first, ...rest] = reports;
  const failed = reports.find(({ error, success }) => error !== undefined || success === false);
  if (failed !== undefined || first === undefined || rest.length === 0) return failed ?? (first as Report);
  const sum = (key: "kept" | "gitignored" | "missing" | "unresolved" | "removed_drawers" | "removed_closets"): number =>
    reports.reduce((all, report) => all + (report[key] ?? 0), 0);
  const [kept, gitignored, missing, unresolved] = [sum("kept"), sum("gitignored"), sum("missing"), sum("unresolved")];
  return {
    ...first,
    ...{ kept, gitignored, missing, unresolved },
    out_of_scope: first.scanned - first.no_source - kept - gitignored - missing - unresolved,
    removed_drawers: sum("removed_drawers"),
    removed_closets: sum("removed_closets"),
    by_source: Object.assign({}, ...reports.map((report) => report.by_source)),
    unresolved_by_source: Object.assign({}, ...reports.map((report) => report.unresolved_by_source)),
  };
}
