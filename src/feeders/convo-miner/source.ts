/** Finds the transcripts in a folder, and its default wing. Skips `tool-results` and, by default, `subagents`. Source: palace.md 5.3. */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, extname, join, relative, sep } from "node:path";
import { unreadable } from "../../base/errors.ts";
import { wingOfFolder } from "../../base/project-names.ts";
import { checkName } from "../doc-miner/project.ts";
import { SKIPPED_FOLDERS } from "../doc-miner/readable.ts";
import { readFolder } from "../../base/read-folder.ts";
import type { Skip } from "../run.ts";
import { TRANSCRIPT_SIZE_MAX_BYTES } from "./read.ts";
import type { TranscriptFile } from "./run.ts";

export type Survey = {
  root: string;
  files: TranscriptFile[];
  skipped: Skip[];
  unreadable: number;
};

const EXTENSIONS = new Set([".txt", ".md", ".json", ".jsonl"]);
/** `path`: a folder or one file. Errors: FEEDER_SOURCE_UNREADABLE. */
export function surveyTranscripts(path: string, includeSubagents: boolean): Survey {
  const { real, stat } = open(path);
  const root = stat.isDirectory() ? real : dirname(real);
  const survey: Survey = { root, files: [], skipped: [], unreadable: 0 };
  if (stat.isDirectory()) walk(survey, real, includeSubagents);
  else look(survey, real);
  return survey;
}

/** Returns the wing: `given`, or else the folder's default. Errors: CONFIG_BAD_VALUE. */
export function wingOf(root: string, given: string | undefined): string {
  if (given !== undefined && given !== "") return checkName(given, "--wing");
  return isFolderOfAgent(root) ? "wing_api" : wingOfFolder(root);
}

function isFolderOfAgent(root: string): boolean {
  const parts = root.split(sep);
  const isClaude = parts.some((part, index) => part === ".claude" && parts[index + 1] === "projects");
  return isClaude || parts.includes(".codex") || parts.includes(".gemini");
}

function walk(survey: Survey, folder: string, includeSubagents: boolean): void {
  const entries = readFolder(folder);
  if (entries === undefined) {
    survey.unreadable += 1;
    survey.skipped.push({ file: relative(survey.root, folder) || ".", reason: "cannot be read" });
    return;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const isSubagents = !includeSubagents && entry.name.toLowerCase() === "subagents";
      const isSkipped = SKIPPED_FOLDERS.has(entry.name) || entry.name === "tool-results";
      if (!isSubagents && !isSkipped) walk(survey, path, includeSubagents);
    } else look(survey, path);
  }
}

function look(survey: Survey, path: string): void {
  const name = basename(path);
  if (name.endsWith(".meta.json") || !EXTENSIONS.has(extname(name).toLowerCase())) return;
  const file = relative(survey.root, path);
  const skip = (reason: string): void => void survey.skipped.push({ file, reason });
  let stat: Stats;
  try {
    stat = lstatSync(path);
  } catch {
    survey.unreadable += 1;
    return skip("cannot be read");
  }
  if (stat.isSymbolicLink()) return skip("symlink");
  if (!stat.isFile()) return skip("not a regular file");
  if (stat.size > TRANSCRIPT_SIZE_MAX_BYTES) return skip("larger than 500 MiB");
  survey.files.push({ path, sourceFile: path, name: file, mtime: stat.mtimeMs / 1000, size: stat.size });
}

function open(path: string): { real: string; stat: Stats } {
  try {
    const real = realpathSync(path);
    return { real, stat: lstatSync(real) };
  } catch (error) {
    throw unreadable(
      `${path} does not exist or cannot be read`,
      "name a folder of transcripts, or one transcript",
      error,
    );
  }
}
