/** Writes each session of a text file into its own file. Renames the original last, so that a run after a kill can start again. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, parse } from "node:path";
import { compareText } from "../../memory/text/text.ts";
import { isAlive } from "../../base/alive.ts";
import { syncFile, syncPath } from "../../base/folders.ts";
import { PalaceError, unreadable } from "../../base/errors.ts";
import { type KnownPeople, linesOf, planSplit, type Session, sessionStarts, type SplitPlan } from "./split.ts";

const FILE_BYTES_MAX = 500 * 1024 * 1024;
const TRIES_MAX = 10_000;
const TEMPORARY = /^\.split-(\d+)\.tmp$/;

export type Transcript = { path: string; stats: Stats; sessions: number };

export type Written = Omit<Session, "text"> & { file: string };

export type SplitResult = Pick<SplitPlan, "leftLines"> & { written: Written[]; backup?: string };

/** Lists the text files of a folder, by name, that have at least `sessionsMin` sessions. Calls `skip` for files that it does not read. */
export function findTranscripts(
  folder: string,
  sessionsMin: number,
  skip: (name: string, why: string) => void,
): Transcript[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".txt"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw unread(folder, error);
  }
  return names.sort(compareText).flatMap((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path);
    if (!stats.isFile()) skip(name, "(not a regular file)");
    else if (stats.size > FILE_BYTES_MAX) skip(name, `exceeds ${FILE_BYTES_MAX / 1024 / 1024} MB limit`);
    else {
      const { text, stats: read } = readText(path);
      const sessions = sessionStarts(linesOf(text)).length;
      if (sessions >= sessionsMin) return [{ path, stats: read, sessions }];
    }
    return [];
  });
}

export type SplitOptions = { outputDir: string; isDryRun: boolean; people: KnownPeople };

/** Splits a file. After an error the original stays, and another call continues. Errors: FEEDER_SOURCE_UNREADABLE, FEEDER_PARTIAL. */
export function splitTranscript({ path, stats: found }: Transcript, options: SplitOptions): SplitResult {
  const { outputDir, isDryRun, people } = options;
  const { text, stats } = readText(path);
  const { parts, leftLines } = planSplit(parse(path).name, linesOf(text), people);
  try {
    if (!isDryRun) removeLeftovers(outputDir);
    const claimed = new Set<string>();
    const written = parts.map(({ text: session, ...part }): Written => {
      const content = Buffer.from(session);
      for (let number = 1; number <= TRIES_MAX; number++) {
        const file = `${part.name}${number === 1 ? "" : `_${number}`}.txt`;
        if (claimed.has(file)) continue;
        const target = join(outputDir, file);
        if (isTaken(target, content)) continue;
        if (!isDryRun && !exists(target)) publish(target, content, stats.mode & 0o666);
        claimed.add(file);
        return { ...part, file };
      }
      throw new Error(`no name is free for ${part.name}`);
    });
    if (isDryRun || written.length === 0) return { written, leftLines };
    syncPath(outputDir);
    const now = lstatSync(path);
    if (now.ino !== found.ino || now.size !== stats.size || now.mtimeMs !== stats.mtimeMs)
      throw new Error("it was changed in the meantime");
    return { written, leftLines, backup: putAside(path, now) };
  } catch (error) {
    if (error instanceof PalaceError) throw error;
    throw new PalaceError(
      "FEEDER_PARTIAL",
      `${path} was not split: ${(error as Error).message}`,
      "nothing is lost, the file is where it was; correct that and run it again",
      { cause: error },
    );
  }
}

/** Returns true if the target exists with other content. The same content comes from a killed run. */
function isTaken(target: string, content: Buffer): boolean {
  const stats = lstatSync(target, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  return !stats.isFile() || stats.size !== content.length || !readText(target).bytes.equals(content);
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function publish(target: string, content: Buffer, mode: number): void {
  const temporary = join(dirname(target), `.split-${process.pid}.tmp`);
  rmSync(temporary, { force: true });
  try {
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(file, content);
      fchmodSync(file, mode);
      syncFile(file);
    } finally {
      closeSync(file);
    }
    move(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Renames the original to a new backup name and returns that name; never replaces an older backup. */
function putAside(path: string, { ino, dev }: Stats): string {
  const { dir, name } = parse(path);
  for (let number = 1; number <= TRIES_MAX; number++) {
    const backup = `${name}${number === 1 ? "" : `.${number}`}.mega_backup`;
    const there = lstatSync(join(dir, backup), { throwIfNoEntry: false });
    // A link to the same file comes from a run that was killed before it removed the old name.
    if (there?.ino === ino && there.dev === dev) unlinkSync(path);
    else if (there !== undefined) continue;
    else move(path, join(dir, backup));
    syncPath(dir);
    return backup;
  }
  throw new Error(`no name is free for ${name}.mega_backup`);
}

/** Renames without ever replacing another file. */
function move(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" || exists(to)) throw error;
    // The file system has no hard links.
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid = ""] = TEMPORARY.exec(name) ?? [];
    if (pid !== "" && !isAlive(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

/** Reads a regular file. Does not wait for a pipe and follows no link. */
function readText(path: string): { text: string; bytes: Buffer; stats: Stats } {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("not a regular file");
    const bytes = readFileSync(file);
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), bytes, stats };
  } catch (error) {
    throw unread(path, error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function unread(path: string, cause: unknown): PalaceError {
  const why = (cause as Error).message;
  return unreadable(`${path} cannot be read: ${why}`, "correct that and run it again", cause);
}
