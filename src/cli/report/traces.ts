/** Finds the files on this machine that still contain a forgotten text, removes those that are only our copies, and reports the others. */
import { hash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { readList } from "../../memory/backup/known-backups.ts";
import type { Config } from "../../config/config.ts";
import { type Exchange, exchangeText } from "../../learning/turn/exchange.ts";
import { quoted } from "../../base/shell-word.ts";
import { writeUserFile } from "../../base/atomic-file.ts";
import { readFolder } from "../../base/read-folder.ts";
import { realPath } from "../../base/real-path.ts";
import { orElse } from "../../base/or-else.ts";
import { parseJson } from "../../base/parse-json.ts";
import type { ForgetPreview, TextMark } from "../../protocol/hygiene.ts";
import { cameFrom } from "../../feeders/came-from.ts";

export type Trace = {
  path: string;
  what: "spool" | "staged copy" | "audit log" | "live" | "backup" | "encrypted backup" | "log" | "source";
};

/** Folders with models, packages or git objects. They are not searched. */
const LEFT_OUT: ReadonlySet<string> = new Set(["models", "node_modules", ".git"]);
const FEEDER_CACHES = ["mempalace-docs", "mempalace-session", "mempalace-convos"];
/** Matches former palaces that a repair, a migration or a restore keeps inside the palace's folder. */
const KEPT_INSIDE = /^before-[^/]+\//;
const LIVE =
  /^(?:ledger\.sqlite3|chroma\.sqlite3|knowledge_graph\.sqlite3)(?:-wal|-shm|-journal)?$|^(?:tunnels|hallways)\.json$/;

export type Sought = Pick<ForgetPreview, "traces" | "marks" | "ids" | "sources">;

/** Finds files and sources with a piece of a forgotten text, and spooled writes with a whole forgotten text. Reads each file once. */
export function findTraces(config: Config, { traces, marks = [], ids = [], sources }: Sought): Trace[] {
  const needles = needlesOf(traces.concat(ids));
  const { searched, listed } = cameFrom(config, sources);
  const { paths } = config;
  const { home, palaceDir, stateDir, spoolDir, settingsDir } = paths;
  const caches = FEEDER_CACHES.map((name) => join(dirname(paths.cacheDir), name));
  const kept = siblings(palaceDir);
  const folders = [home, palaceDir, stateDir, paths.cacheDir, settingsDir, ...caches, ...kept];
  const found = new Map<string, Trace>();
  const look = (path: string, what?: Trace["what"]): void => {
    for (const file of filesIn(path)) {
      const real = realOf(file);
      if (found.has(real)) continue;
      const kind = what ?? whatIs(real);
      // Keeps a spooled write that only begins like the forgotten text, because it is the only copy of its own text.
      if (!(kind === "spool" ? holdsWhole(real, marks) : holds(real, needles))) continue;
      found.set(real, { path: real, what: kind });
    }
  };
  const whatIs = (file: string): Trace["what"] => {
    const within = (folder: string): boolean => file === folder || file.startsWith(realOf(folder) + sep);
    if (within(spoolDir)) return "spool";
    if (caches.some(within)) return "staged copy";
    if (relative(realOf(settingsDir), file) === join("wal", "write_log.jsonl")) return "audit log";
    if (within(stateDir)) return "log";
    const isOld =
      kept.some(within) ||
      /\.(?:corrupt|drift|old|bak)/.test(relative(realOf(home), file)) ||
      [palaceDir, home].some((folder) => KEPT_INSIDE.test(relative(realOf(folder), file)));
    if (!isOld && (LIVE.test(basename(file)) || isIndex(file, palaceDir))) return "live";
    return "backup";
  };
  if (needles.length > 0) {
    for (const folder of folders) look(folder);
    for (const source of searched) look(source, "source");
    for (const { file, encrypted } of readList(home).backups) {
      if (file === null || !existsSync(file)) continue;
      // We cannot search an encrypted backup, so we list it.
      if (encrypted) found.set(realOf(file), { path: realOf(file), what: "encrypted backup" });
      else look(file, "backup");
    }
    // The newest rows of opencode's database may be only in the write-ahead log beside it.
    const { opencodeDatabase } = config.sessions;
    if (holds(`${opencodeDatabase}-wal`, needles)) listed.push(opencodeDatabase);
  }
  for (const path of listed.map(realOf)) if (!found.has(path)) found.set(path, { path, what: "source" });
  return [...found.values()];
}

/** Returns true if a rewritten file still contains a sought text; false for an encrypted file, which cannot be read. */
export function stillHolds({ path, what }: Trace, { traces, ids = [] }: Sought): boolean {
  const needles = needlesOf(traces.concat(ids));
  return what !== "encrypted backup" && needles.length > 0 && holds(path, needles);
}

/**
 * Removes our own copies (spooled writes, staged copies) and the audit log's lines that contain a text. With `sources`, keeps staged copies
 * of all other sources. Errors: file system errors.
 */
export function removeTraces(
  traces: readonly Trace[],
  texts: readonly string[],
  sources?: readonly string[],
): { removed: Trace[]; left: Trace[] } {
  const own = sources && new Set(sources.map(belowCache));
  const removed: Trace[] = [];
  const left: Trace[] = [];
  for (const trace of traces) {
    const { path, what } = trace;
    const isStaged = what === "staged copy" && (own === undefined || own.has(belowCache(path)));
    if (what === "spool" || isStaged) {
      rmSync(path, { force: true });
      rmSync(`${path}.why`, { force: true });
      removed.push(trace);
    } else if (what === "audit log") {
      // Lines may be removed from the audit log, because MemPalace only appends to it.
      const needles = needlesOf(texts);
      const lines = readFileSync(path, "utf8").split("\n");
      writeUserFile(path, lines.filter((line) => !needles.some((one) => Buffer.from(line).includes(one))).join("\n"));
      removed.push(trace);
    } else left.push(trace);
  }
  return { removed, left };
}

/** Returns a staged path without the cache's folder, because that folder may have another path in a container. */
function belowCache(path: string): string {
  const at = Math.max(...FEEDER_CACHES.map((name) => path.lastIndexOf(`/${name}/`)));
  return at < 0 ? path : path.slice(at);
}

/** Returns what is beside this palace under a longer name, such as a former palace that a repair or a user has kept. */
function siblings(palaceDir: string): string[] {
  const name = basename(palaceDir);
  return (readFolder(dirname(palaceDir)) ?? [])
    .filter((one) => one.name !== name && one.name.startsWith(name))
    .map((one) => join(dirname(palaceDir), one.name));
}

function isIndex(file: string, palaceDir: string): boolean {
  return /\.(?:bin|pickle)$/.test(file) && dirname(dirname(file)) === realOf(palaceDir);
}

function realOf(path: string): string {
  return realPath(path) ?? path;
}

/** Returns true if a string in a spooled write contains one of the texts as a whole, from the first character to the last. */
function holdsWhole(file: string, marks: readonly TextMark[]): boolean {
  const text = orElse(() => readFileSync(file, "utf8"), undefined);
  if (text === undefined) return false;
  const strings = [...stringsOf(text), ...exchangeIn(text)];
  return strings.some((string) => marks.some((mark) => standsIn(string, mark)));
}

function standsIn(string: string, { piece, at, length, sha256 }: TextMark): boolean {
  for (let from = string.indexOf(piece); from >= 0; from = string.indexOf(piece, from + 1)) {
    const begin = from - at;
    if (begin >= 0 && hash("sha256", string.slice(begin, begin + length)) === sha256) return true;
  }
  return false;
}

/** Yields all strings of a value. A string of JSON, such as the line of a spooled write, is searched for strings, too. */
function* stringsOf(value: unknown): Generator<string> {
  if (typeof value === "string") {
    yield value;
    const inner = parseJson(value);
    if (typeof inner === "object") yield* stringsOf(inner);
  } else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) yield* stringsOf(one);
}

/** Returns the text that a spooled end of a turn would file: the user's message and the agent's answer together. */
function exchangeIn(text: string): string[] {
  const { line } = (parseJson(text) ?? {}) as { line?: unknown };
  const { params } = (typeof line === "string" ? (parseJson(line) ?? {}) : {}) as { params?: Partial<Exchange> };
  const { user, assistant } = params ?? {};
  if (typeof user !== "string" || typeof assistant !== "string") return [];
  return [exchangeText({ user, assistant })?.text ?? ""];
}

/** Matches the folder in which a restore, a repair or a migration keeps the former palace. */
const KEPT = /^(.*?\/before-[^/]+)\//;

export function removalHints(standing: readonly Trace[]): string[] {
  const kept = standing.flatMap(({ path }) => KEPT.exec(path)?.[1] ?? []);
  const folders = [...new Set(kept)].map((folder) => `if you no longer need that copy: rm -rf ${quoted(folder)}`);
  const isBackup = ({ path, what }: Trace): boolean => what.endsWith("backup") && !KEPT.test(path);
  return standing.some(isBackup)
    ? [
        ...folders,
        "for backups: delete those files, or name the text: printf %s TEXT | palace forget --match - --rewrite-backups",
      ]
    : folders;
}

const READ_SIZE_BYTES = 4 * 1024 * 1024;

/** Yields the file, or all files below a folder. Skips folders whose name is in `LEFT_OUT`. */
function* filesIn(path: string): Generator<string> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() === true) yield path;
  if (stat?.isDirectory() !== true) return;
  for (const entry of readFolder(path) ?? []) {
    if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) yield* filesIn(join(path, entry.name));
    else if (entry.isFile()) yield join(path, entry.name);
  }
}

/** Returns each text's bytes in the forms that files contain: plain, as a JSON string, and as a JSON string with non-ASCII escaped. */
function needlesOf(texts: readonly string[]): Buffer[] {
  const forms = texts.flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    const ascii = json.replaceAll(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return [text, json, ascii];
  });
  return [...new Set(forms)].filter((form) => form !== "").map((form) => Buffer.from(form));
}

/** Returns false also for a file that cannot be read. */
function holds(file: string, needles: readonly Buffer[]): boolean {
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1;
  let fd: number | undefined;
  try {
    fd = openSync(file, "r");
    const bytes = Buffer.allocUnsafe(READ_SIZE_BYTES + overlap);
    let kept = 0;
    for (let at = 0; ;) {
      const read = readSync(fd, bytes, kept, READ_SIZE_BYTES, at);
      if (read === 0) return false;
      const part = bytes.subarray(0, kept + read);
      if (needles.some((needle) => part.includes(needle))) return true;
      at += read;
      const tail = Math.min(overlap, part.length);
      bytes.copyWithin(0, part.length - tail, part.length);
      kept = tail;
    }
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
