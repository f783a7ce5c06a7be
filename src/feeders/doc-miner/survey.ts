/** Lists the documents of a project folder, and reads one of them. Follows no symbolic link. */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { join } from "node:path";
import { SOURCE_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { readFolder } from "../../base/read-folder.ts";
import { decodeText } from "../decode.ts";
import type { Skip } from "../run.ts";
import { isShellScript, type Verdict } from "./document-names.ts";
import { DOCS, type Front } from "./kinds-of-run.ts";
import { isCopyWithin } from "../../base/worktree.ts";
import { isProse } from "./no-document.ts";
import { enterFolder, findIgnoreRule, type IgnoreChain, rulesOf } from "./ignore-chain.ts";

/** Document on disk. `path`: relative to the project, with `/`. `mtime`: seconds. `size`: bytes. */
export type Found = { path: string; mtime: number; size: number };
export type Survey = {
  documents: Found[];
  /** Documents that are not filed, with the reasons. Source code and data are not listed. */
  skipped: Skip[];
  /** Folders and files that could not be read. */
  unreadable: string[];
  /** Paths that are not filed in this run but keep their drawers: too large documents, and paths with too complex ignore rules. */
  undecided: string[];
};
/** Content of a document. `text`: its lines end with line feeds. `lost`: number of undecodable characters. `bytes`: for the staged copy. */
export type Document = { bytes?: Buffer; text: string; lost?: number; sha256: string; mtime: number; size: number };
/** Document that cannot be read. `isPassing`: the same file may be readable later. */
export type Unread = { reason: string; outcome: string; isPassing: boolean };
/** Reads one document. A string is the reason why the file is not filed. Errors: the file system's. */
export type DocumentReader = (root: string, path: string) => Document | string | Promise<Document | Unread>;

/** Maximum depth of folders; deeper folders are left out and reported. */
const DEPTH_MAX = 100;
const HEAD_SIZE_BYTES = 128;
/** Number of bytes at the start that decide whether a text is prose (`weigh`). */
const START_SIZE_BYTES = 64 * 1024;

export type SurveyRules = {
  front: Front;
  ignoreFiles: boolean;
  /** Paths to which neither ignore rules nor the list of skipped folders apply. A file in this list is always filed. */
  include: readonly string[];
  /** The project file's patterns of excluded paths, as in a .gitignore file. */
  exclude: readonly string[];
  /** If set, the survey decides only about this path and enters only the folders above it. */
  only?: string | undefined;
  sizeMaxBytes?: number;
  /** Called for each path with the reason why it is filed or left out. */
  explain?: (reason: string) => void;
};

export const DOCS_RULES: SurveyRules = { front: DOCS, ignoreFiles: true, include: [], exclude: [] };

/** `avoid`: absolute paths of folders that are not entered, namely our staging area and the palace. */
export function surveyProject(root: string, avoid: readonly string[], rules: SurveyRules = DOCS_RULES): Survey {
  const survey: Survey = { documents: [], skipped: [], unreadable: [], undecided: [] };
  const excluded = rulesOf(rules.exclude);
  const include = rules.include.map((path) => path.trim().replace(/^\/+|\/+$/g, "")).filter((path) => path !== "");
  walk({ root, rules: { ...rules, include }, excluded, avoid: new Set(avoid), survey }, "", [], 0);
  return survey;
}

type Walk = {
  root: string;
  rules: SurveyRules;
  excluded: IgnoreChain;
  avoid: ReadonlySet<string>;
  survey: Survey;
};

const NOBODY = (): void => {};

/** Returns true for a path in `include`, and for the paths above and below it. */
function isIncluded({ rules }: Walk, path: string): boolean {
  return rules.include.some((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`));
}

function ignoredBy(walking: Walk, chain: IgnoreChain, path: string, isFolder: boolean): string | undefined {
  const { excluded, survey } = walking;
  if (isIncluded(walking, path)) return undefined;
  const own = findIgnoreRule(chain, path, isFolder);
  const hit = own ?? findIgnoreRule(excluded, path, isFolder);
  if (hit?.isUndecided === true) {
    survey.skipped.push({ file: path, reason: `${hit.file} has ${hit.pattern}` });
    survey.undecided.push(path);
  }
  return hit && `ignored by "${hit.pattern}" in ${own === undefined ? "the project's exclude_patterns" : hit.file}`;
}

function walk(walking: Walk, folder: string, above: IgnoreChain, depth: number): void {
  const { root, rules, avoid, survey } = walking;
  const { front, ignoreFiles, explain = NOBODY } = rules;
  const entries = readFolder(join(root, folder));
  if (entries === undefined || depth > DEPTH_MAX) {
    survey.unreadable.push(folder);
    const reason = depth > DEPTH_MAX ? "nested too deep" : "cannot be read";
    return skip(survey, rules, { file: folder === "" ? "." : folder, reason });
  }
  const names = entries.map((entry) => entry.name);
  // The project itself is always entered, even if it has a `pyvenv.cfg` or a `CACHEDIR.TAG`.
  const refusal = folder === "" ? undefined : front.refuseFolder("", names);
  if (refusal !== undefined) return explain(`folder ${folder} is ${refusal}`);
  const mayBeCopy = folder !== "" && names.includes(".git") && !isIncluded(walking, folder);
  if (mayBeCopy && isCopyWithin(root, join(root, folder)))
    return explain(`folder ${folder} is a git worktree of a repository in this folder`);
  const chain = ignoreFiles ? enterFolder(above, root, folder, names) : above;

  for (const entry of entries) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (rules.only !== undefined && path !== rules.only && !rules.only.startsWith(`${path}/`)) continue;
    if (entry.isDirectory()) {
      if (avoid.has(join(root, path))) continue;
      const why =
        (isIncluded(walking, path) ? undefined : front.refuseFolder(entry.name, [])) ??
        ignoredBy(walking, chain, path, true);
      if (why === undefined) walk(walking, path, chain, depth + 1);
      else explain(`folder ${path} is ${why}`);
      continue;
    }
    const verdict = verdictOf(walking, path, entry.name);
    const why = verdict.kind === "leave" ? verdict.why : ignoredBy(walking, chain, path, false);
    if (why !== undefined) explain(why);
    else if (verdict.kind === "refuse")
      skip(survey, rules, { file: path, reason: verdict.why, ...outcomeOf(verdict.outcome) });
    else if (entry.isSymbolicLink()) {
      if (verdict.kind === "take" || verdict.kind === "weigh") skip(survey, rules, linkAt(root, path));
    } else if (entry.isFile()) addFile(walking, path, verdict);
  }
}

function skip(survey: Survey, { explain = NOBODY }: SurveyRules, skipped: Skip): void {
  survey.skipped.push(skipped);
  explain(skipped.reason);
}

function verdictOf({ rules }: Walk, path: string, name: string): Verdict {
  return rules.include.includes(path) ? { kind: "take", why: "named by --include-ignored" } : rules.front.judge(name);
}

function linkAt(root: string, path: string): Skip {
  if (existsSync(join(root, path))) return { file: path, reason: "symbolic link" };
  return { file: path, reason: "symbolic link to nothing", outcome: "broken_symlink" };
}

function outcomeOf(outcome: string | undefined): { outcome?: string } {
  return outcome === undefined ? {} : { outcome };
}

function addFile({ root, rules, survey }: Walk, path: string, { kind, why }: Verdict): void {
  const { sizeMaxBytes = SOURCE_SIZE_MAX_BYTES, explain = NOBODY } = rules;
  const isSniffed = kind === "sniff";
  try {
    const start = (size: number): Buffer => readStart(join(root, path), size);
    if (isSniffed && !isShellScript(start(HEAD_SIZE_BYTES).toString("latin1")))
      return explain("no extension, and no shell script");
    if (kind === "weigh" && !isProse(decodeText(start(START_SIZE_BYTES)).text))
      return skip(survey, rules, { file: path, reason: why });
    explain(isSniffed ? "a shell script by its first line" : kind === "weigh" ? "prose about secrets" : why);
    const stat = lstatSync(join(root, path));
    if (stat.size > sizeMaxBytes) {
      survey.undecided.push(path);
      skip(survey, rules, { file: path, reason: tooLarge(stat.size, sizeMaxBytes), outcome: "too_large" });
    } else survey.documents.push({ path, mtime: stat.mtimeMs / 1000, size: stat.size });
  } catch {
    // Most files without an extension are not documents, so an unreadable one is not reported.
    if (isSniffed) return;
    survey.unreadable.push(path);
    skip(survey, rules, { file: path, reason: "cannot be read" });
  }
}

function readStart(path: string, size: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const start = Buffer.alloc(size);
    return start.subarray(0, readSync(file, start, 0, size, 0));
  } finally {
    closeSync(file);
  }
}

export function readDocument(root: string, path: string): Document | string {
  const file = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!isAt(file, join(root, path))) return "reached through a symbolic link";
    // Reads the time before the bytes, so that the next run notices a change in between.
    const stat = fstatSync(file);
    if (!stat.isFile()) return "not a regular file";
    if (stat.size > SOURCE_SIZE_MAX_BYTES) return tooLarge(stat.size);
    const bytes = readFileSync(file);
    if (bytes.length > SOURCE_SIZE_MAX_BYTES) return tooLarge(bytes.length);
    const { text: decoded, lost } = decodeText(bytes);
    if (decoded.includes("\0")) return "binary (holds NUL bytes)";
    const text = decoded.replace(/\r\n?/g, "\n");
    const sha256 = createHash("sha256").update(text).digest("hex");
    return { bytes, text, ...(lost > 0 && { lost }), sha256, mtime: stat.mtimeMs / 1000, size: stat.size };
  } finally {
    closeSync(file);
  }
}

/** Returns true if the open file is at `path` without a link: through a link, a peer could read files outside of the project. */
function isAt(file: number, path: string): boolean {
  const real = realpathSync(path);
  const [opened, there] = [fstatSync(file, { bigint: true }), lstatSync(real, { bigint: true })];
  return real === path && opened.ino === there.ino && opened.dev === there.dev;
}

function tooLarge(sizeBytes: number, maxBytes: number = SOURCE_SIZE_MAX_BYTES): string {
  const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);
  return `larger than ${mebibytes(maxBytes)} MiB (${mebibytes(sizeBytes)} MiB)`;
}
