/** Writes the names that the user confirmed in `init`; they become tags of drawers (palace.md 3.9). Never overwrites an unreadable file. */
import { lstatSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { targetOf, writeFileAtomic, writeUserFile } from "../../base/atomic-file.ts";
import { isRecord } from "../../base/parse-json.ts";

export type Confirmed = { people: string[]; projects: string[]; topics: string[] };

const PROJECT_FILES = ["mempalace.yaml", "entities.json"];

/** Writes the project's entities.json and returns its path. Returns undefined, without writing, if the file is not a JSON object. */
export function writeProjectEntities(root: string, confirmed: Confirmed): string | undefined {
  const path = join(root, "entities.json");
  const existing = readObject(path);
  if (existing === undefined) return undefined;
  writeFileAtomic(path, JSON.stringify({ ...existing, ...confirmed }, null, 2), 0o644);
  return path;
}

/** Adds names to the registry of all projects. Renames a damaged registry (`keptAs`); returns undefined if that fails. */
export function addKnownEntities(path: string, confirmed: Confirmed, wing: string): { keptAs?: string } | undefined {
  path = targetOf(path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let existing = readObject(path);
  let keptAs: string | undefined;
  if (existing === undefined) {
    keptAs = `${path}.unreadable-${Date.now()}`;
    try {
      renameSync(path, keptAs);
    } catch {
      return undefined;
    }
    existing = {};
  }
  for (const [category, names] of Object.entries(confirmed))
    if (names.length > 0) existing[category] = merged(existing[category], names);
  const topics = isRecord(existing["topics_by_wing"]) ? { ...existing["topics_by_wing"] } : {};
  // The wing's topics from an earlier `init` are replaced.
  delete topics[wing];
  if (confirmed.topics.length > 0) topics[wing] = merged([], confirmed.topics);
  delete existing["topics_by_wing"];
  if (Object.keys(topics).length > 0) existing["topics_by_wing"] = topics;
  writeUserFile(path, JSON.stringify(existing, null, 2));
  return keptAs === undefined ? {} : { keptAs };
}

/** Adds the files of `init` to .gitignore in a git repository. Returns true if lines were added. */
export function ignoreProjectFiles(root: string): boolean {
  const path = join(root, ".gitignore");
  if (lstatSync(join(root, ".git"), { throwIfNoEntry: false }) === undefined) return false;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isFile()) return false;
  const text = stats === undefined ? "" : readFileSync(path, "utf8");
  const lines = new Set(text.split(/\r?\n/).map((line) => line.trim()));
  const missing = PROJECT_FILES.filter((name) => !lines.has(name));
  // A file that is not UTF-8 would change if it were written back.
  if (missing.length === 0 || text.includes("\uFFFD")) return false;
  const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  writeFileAtomic(
    path,
    `${start}\n# MemPalace\n${missing.join("\n")}\n`,
    stats === undefined ? 0o644 : stats.mode & 0o777,
  );
  return true;
}

/** Adds the names that are missing, ignoring case. `current` is a list of names, or an object with names as keys. */
function merged(current: unknown, names: readonly string[]): unknown {
  const isMap = isRecord(current);
  const there = isMap ? Object.keys(current) : Array.isArray(current) ? current.map(String) : [];
  const seen = new Set(there.map((name) => name.toLowerCase()));
  const added: string[] = [];
  for (const name of names) {
    if (name !== "" && !seen.has(name.toLowerCase())) added.push(name);
    seen.add(name.toLowerCase());
  }
  if (isMap) return { ...current, ...Object.fromEntries(added.map((name) => [name, null])) };
  return [...(Array.isArray(current) ? (current as unknown[]) : []), ...added];
}

/** Returns the JSON object in a file: empty if the file is missing, undefined if it is not a regular file with an object. */
function readObject(path: string): Record<string, unknown> | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return {};
  if (!stats.isFile()) return undefined;
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
