/**
 * Finds drawers whose source files are deleted or ignored, and removes them if `apply` is set (palace.md 5.7, upstream-latest.md 2.1). A
 * file counts as deleted only if its folder is unchanged and still has another source, because an unmounted volume must not look like a
 * deletion.
 */
import { cut } from "../../base/shorten.ts";
import { Gitignore } from "../../base/gitignore.ts";
import { canBePath } from "../../base/path-size.ts";
import type { LedgerReader, LedgerTx, WriteCall } from "../port/ledger.ts";
import type { SourceFiles, SourceGroup } from "../port/source.ts";

type Verdict = "kept" | "gitignored" | "missing" | "unresolved" | "no_source" | "out_of_scope";
/** State of a source before the other sources of its folder are checked. */
type Seen = Exclude<Verdict, "missing"> | "absent";
type Findings = { report: Record<string, unknown>; removable: SourceGroup[] };

/** Time after which sync lets other calls run, ms. Only one step may take longer: applying one folder's rules to one path. */
const HELD_MAX_MS = 10;
/** Maximum characters of ignore rules: in all folders above one file, and in the cache. Parsed rules take a hundred times the memory. */
const RULES_SIZE_MAX = 1024 * 1024;
/** Maximum number of folders that are remembered, so that they are looked up only once. Beyond it, all of them are forgotten. */
const FOLDERS_KEPT_MAX = 10_000;

const NEEDS_SCOPE =
  "sync apply requires explicit wing= or project_dirs= so it cannot auto-prune every wing in a multi-project palace; " +
  "pass --wing or a project directory";

/** Returns sync's report, and the drawers to remove, grouped by source. */
export async function reportSync(
  reader: LedgerReader,
  files: SourceFiles,
  params: Record<string, unknown>,
): Promise<Findings> {
  const { wing, projectDir, apply } = scopeOf(params);
  const groups = reader.sourceGroups(wing);
  const pause = createPauses();
  const given = projectDir === undefined ? undefined : files.resolve(projectDir);
  const roots = projectDir === undefined ? await projectsOf(groups, files, pause) : given === undefined ? [] : [given];
  const judge = await createJudge(files, roots, groups, pause);
  const counts = { kept: 0, gitignored: 0, missing: 0, unresolved: 0, no_source: 0, out_of_scope: 0 };
  const bySource: Record<string, number> = {};
  const unresolvedBySource: Record<string, number> = {};
  const removable: SourceGroup[] = [];
  for (const group of groups) {
    const verdict = judge(group);
    const { sourceFile, drawers } = group;
    counts[verdict] += drawers;
    const listed = verdict === "unresolved" ? unresolvedBySource : bySource;
    // Cuts names that are too long for a path, because a few names of several megabytes would exceed the size of an answer.
    const name = canBePath(sourceFile) ? sourceFile : cut(sourceFile);
    if (["unresolved", "missing", "gitignored"].includes(verdict)) listed[name] = (listed[name] ?? 0) + drawers;
    if (verdict === "missing" || verdict === "gitignored") removable.push(group);
    await pause();
  }
  const scanned = groups.reduce((sum, { drawers }) => sum + drawers, 0);
  const removed = { removed_drawers: 0, removed_closets: 0, dry_run: !apply };
  const report = { scanned, ...counts, ...removed, by_source: bySource, unresolved_by_source: unresolvedBySource };
  return { report, removable };
}

export function sync(tx: LedgerTx, call: WriteCall): unknown {
  const { wing, projectDir, apply } = scopeOf(call.params);
  if (apply && wing === undefined && projectDir === undefined) return { success: false, error: NEEDS_SCOPE };
  const findings = call.findings as Findings | undefined;
  if (findings === undefined) return { success: false, error: "sync failed: the sources could not be checked" };
  if (!apply) return { success: true, ...findings.report };
  let removed = 0;
  let closets = 0;
  for (const group of findings.removable) {
    const { sourceFile } = group;
    const before = tx.closets.count(sourceFile);
    removed += tx.deleteSourceGroup(group, wing);
    // The ledger deletes closets only with their source's last drawer, because until then they may point at drawers that stay.
    closets += before - tx.closets.count(sourceFile);
  }
  return { success: true, ...findings.report, removed_drawers: removed, removed_closets: closets };
}

function scopeOf(params: Record<string, unknown>): { wing?: string; projectDir?: string; apply: boolean } {
  const { wing, project_dir: projectDir, apply } = params;
  return {
    ...(typeof wing === "string" && wing !== "" && { wing }),
    ...(typeof projectDir === "string" && projectDir !== "" && { projectDir }),
    apply: Boolean(apply),
  };
}

/** Returns the nearest folder above each source that has a .git or a .gitignore, the longest path first. */
async function projectsOf(groups: readonly SourceGroup[], files: SourceFiles, pause: Pause): Promise<string[]> {
  const roots = new Set<string>();
  const asked = new Set<string>();
  for (const { sourceFile } of groups) {
    if (!sourceFile.startsWith("/") || !canBePath(sourceFile)) continue;
    for (const folder of foldersAbove(sourceFile)) {
      // This folder and the folders above it were already looked up for an earlier source.
      if (asked.has(folder)) break;
      if (asked.size >= FOLDERS_KEPT_MAX) asked.clear();
      asked.add(folder);
      await pause();
      if (!files.isProject(folder)) continue;
      const root = files.resolve(folder);
      if (root !== undefined) roots.add(root);
      break;
    }
  }
  return [...roots].sort((a, b) => b.length - a.length);
}

async function createJudge(
  files: SourceFiles,
  roots: readonly string[],
  groups: readonly SourceGroup[],
  pause: Pause,
): Promise<(group: SourceGroup) => Verdict> {
  const isIgnored = createIgnored(files, pause);
  const seen = new Map<string, Seen>();
  // Sources whose files exist, by folder. They show that the folder is not an unmounted volume.
  const witnesses = new Map<string, string[]>();
  for (const { sourceFile, isRegistry } of groups) {
    if (isRegistry || seen.has(sourceFile)) continue;
    const state = await look(sourceFile, { files, roots, isIgnored });
    seen.set(sourceFile, state);
    if (state === "kept" || state === "gitignored") {
      const beside = witnesses.get(folderOf(sourceFile));
      if (beside === undefined) witnesses.set(folderOf(sourceFile), [sourceFile]);
      else beside.push(sourceFile);
    }
    await pause();
  }

  return ({ sourceFile, directoryId, isRegistry }) => {
    if (isRegistry) return "kept";
    const state = seen.get(sourceFile) ?? "no_source";
    if (state !== "absent" && state !== "gitignored") return state;
    const isSameFolder = directoryId === null || directoryId === files.directoryId(folderOf(sourceFile));
    if (state === "gitignored") return isSameFolder ? "gitignored" : "unresolved";
    // Checks the files again, because a volume may have been mounted or unmounted since the first check.
    const isWitnessed = (witnesses.get(folderOf(sourceFile)) ?? []).some((name) => files.state(name) === "file");
    return isWitnessed && isSameFolder && files.state(sourceFile) === "absent" ? "missing" : "unresolved";
  };
}

type Looking = {
  files: SourceFiles;
  roots: readonly string[];
  isIgnored: (root: string, path: string) => Promise<boolean | undefined>;
};

async function look(name: string, { files, roots, isIgnored }: Looking): Promise<Seen> {
  if (!name.startsWith("/")) return "no_source";
  const path = canBePath(name) ? files.resolve(name) : undefined;
  if (path === undefined) return "unresolved";
  const root = roots.find((one) => path === one || path.startsWith(one === "/" ? one : `${one}/`));
  if (root === undefined) return "out_of_scope";
  const state = files.state(path);
  if (state === "unknown") return "unresolved";
  if (state === "absent") return "absent";
  const ignored = await isIgnored(root, path);
  if (ignored === undefined) return "unresolved";
  return ignored ? "gitignored" : "kept";
}

type Pause = () => Promise<void>;

/** Returns a function that lets other calls run if none could for HELD_MAX_MS. A palace may name thousands of files. */
function createPauses(): Pause {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < HELD_MAX_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  };
}

/** Returns a function that tells whether a file is ignored: the last matching rule decides. Undefined if the rules are too large. */
function createIgnored(files: SourceFiles, pause: Pause): Looking["isIgnored"] {
  type Rules = { rules: Gitignore; size: number };
  const known = new Map<string, Rules | undefined>();
  let knownSize = 0;
  const rulesOf = async (folder: string): Promise<Rules | undefined> => {
    if (known.has(folder)) return known.get(folder);
    const text = files.ignoreRules(folder);
    const read = text === undefined ? undefined : { rules: await Gitignore.read(text, pause), size: text.length };
    knownSize += read?.size ?? 0;
    if (knownSize > RULES_SIZE_MAX) {
      known.clear();
      knownSize = read?.size ?? 0;
    }
    known.set(folder, read);
    return read;
  };
  return async (root, path) => {
    let isIgnored = false;
    let size = 0;
    const folders = foldersAbove(path).filter((folder) => folder === root || folder.startsWith(`${root}/`));
    for (const folder of folders.reverse()) {
      await pause();
      const read = await rulesOf(folder);
      if (read === undefined) continue;
      size += read.size;
      const said = size > RULES_SIZE_MAX ? undefined : read.rules.test(path.slice(folder.length + 1));
      if (said === undefined) return undefined;
      if (said.ignored) isIgnored = true;
      else if (said.unignored) isIgnored = false;
    }
    return isIgnored;
  };
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

/** Lists the folders above a path, the nearest first, down to "/". */
function foldersAbove(path: string): string[] {
  const folders = [folderOf(path)];
  for (let at = folders[0] ?? "/"; at !== "/";) folders.push((at = folderOf(at)));
  return folders;
}
