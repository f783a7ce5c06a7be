/** Opens another memory (a backup, a palace's home, MemPalace's files) as a private copy, so that it stays unchanged and usable. */
import { copyFileSync, existsSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type LedgerDatabase, openForReading, openForWriting } from "../ledger/open.ts";
import { damaged, PalaceError, unavailable, wrongUsage } from "../../base/errors.ts";
import { EVENTS, LEDGER } from "./contents.ts";
import { type Draft, dropDraft, makeDraft, removeDrafts } from "./draft.ts";
import { closeLog, lookInto, withDatabase } from "./look.ts";
import type { Counts } from "./manifest.ts";
import { unpackVerified, type VerifyOptions } from "./verify.ts";

export type OtherMemory = {
  kind: "backup" | "home" | "mempalace";
  ledger: LedgerDatabase;
  counts: Counts;
  /** Closes and removes the copy. */
  close: () => void;
};

export type OpenOptions = Omit<VerifyOptions, "folder"> & {
  cacheDir: string;
  /** Files of the running memory, which cannot be imported into itself. Empty if the running memory is on another machine. */
  ownFiles: readonly string[];
  /** Makes a ledger from the copy of MemPalace's files in `folder`. */
  makeLedger: (folder: string, ledgerFile: string) => void;
};

const PREFIX = "import-";
const COPY_TRIES = 3;
const BUSY_TIMEOUT_MS = 5_000;
/** Suffixes of a database and of SQLite's logs. A log exists if the database was not closed. */
const PARTS = ["", "-wal", "-journal"];
const CHROMA = "chroma.sqlite3";
/** Files that MemPalace keeps beside its palace's folder. An export has them inside the folder. */
const BESIDE = { databases: ["knowledge_graph.sqlite3"], others: ["tunnels.json", "hallways.json"] };

/**
 * Copies the memory at `path` and opens the copy. After an error no copy exists. Errors: CONFIG_USAGE if `path` is not a memory or is the
 * running memory itself; STORE_CORRUPT, STORE_UNAVAILABLE, PROTOCOL_VERSION_MISMATCH, BROKER_CANCELLED, the file system's errors.
 */
export async function openOtherMemory(path: string, options: OpenOptions): Promise<OtherMemory> {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) throw unusable(path, "is not there");
  const home = there.isDirectory() ? homeOf(path) : undefined;
  const palace = there.isDirectory() && home === undefined ? palaceOf(path) : undefined;
  const main = home === undefined ? palace && join(palace, CHROMA) : join(home, LEDGER);
  if (there.isDirectory() && main === undefined)
    throw unusable(path, "contains no memory: it has no ledger.sqlite3 and no chroma.sqlite3");
  if (main !== undefined && options.ownFiles.some((own) => existsSync(own) && realpathSync(main) === realpathSync(own)))
    throw wrongUsage(`${path} is the running memory itself`, "name another memory: palace import FILE|DIR");
  removeDrafts(options.cacheDir, PREFIX);
  const draft = makeDraft(options.cacheDir, PREFIX);
  try {
    if (home !== undefined) copyHome(home, draft.folder);
    else if (palace === undefined) await unpackVerified(path, { ...options, folder: draft.folder });
    else {
      copyPalace(palace, draft.folder);
      options.makeLedger(draft.folder, join(draft.folder, LEDGER));
    }
    return openCopy(home !== undefined ? "home" : palace === undefined ? "backup" : "mempalace", draft);
  } catch (error) {
    dropDraft(draft);
    throw main === undefined ? error : ofHome(error, path, draft.folder);
  }
}

/** Replaces the copy's path in an error by the path that the user knows. */
function ofHome(error: unknown, home: string, copy: string): unknown {
  if (!(error instanceof PalaceError)) return error;
  const { code, message, hint, cause } = error;
  const why = message.replaceAll(copy, home).replace(/^the backup cannot be used: /, "");
  if (code === "STORE_CORRUPT")
    return new PalaceError(
      code,
      `${home} cannot be imported: ${why}; nothing was changed`,
      "import a backup of it: palace import FILE",
      { cause },
    );
  const said = why.replace("the backup's ledger", `the ledger in ${home}`);
  return new PalaceError(code, said.includes(home) ? said : `${home}: ${said}`, hint, { cause });
}

function openCopy(kind: OtherMemory["kind"], draft: Draft): OtherMemory {
  const file = join(draft.folder, LEDGER);
  const { counts } = lookInto(draft.folder);
  // Opening for writing migrates the copy of an older ledger to the present tables.
  openForWriting(file).close();
  const ledger = openForReading(file);
  return {
    kind,
    ledger,
    counts,
    close: () => {
      ledger.close();
      dropDraft(draft);
    },
  };
}

/** Returns the palace's home. `path`: the home itself, or the folder in it that has MemPalace's files. */
function homeOf(path: string): string | undefined {
  return [path, dirname(path)].find(
    (folder, at) => existsSync(join(folder, LEDGER)) && (at === 0 || existsSync(join(path, CHROMA))),
  );
}

/** Returns the folder with MemPalace's own files. In a home this is the folder `palace`. */
function palaceOf(path: string): string | undefined {
  return [path, join(path, "palace")].find((folder) => existsSync(join(folder, CHROMA)));
}

function copyPalace(palace: string, folder: string): void {
  copyDatabase(join(palace, CHROMA), join(folder, CHROMA));
  const places = basename(palace) === "palace" ? [palace, dirname(palace)] : [palace];
  const find = (name: string): string | undefined =>
    places.map((place) => join(place, name)).find((file) => existsSync(file));
  for (const name of BESIDE.databases) {
    const file = find(name);
    if (file !== undefined) copyDatabase(file, join(folder, name));
  }
  for (const name of BESIDE.others) {
    const file = find(name);
    if (file !== undefined) copyRegular(file, join(folder, name));
  }
}

function copyHome(home: string, folder: string): void {
  copyDatabase(join(home, LEDGER), join(folder, LEDGER));
  const events = [join(home, "palace", EVENTS), join(home, EVENTS)].find((file) => existsSync(file));
  if (events !== undefined) copyDatabase(events, join(folder, EVENTS));
}

/** Copies the bytes and checks that `file` did not change meanwhile. If it keeps changing, SQLite copies it and waits for its writer. */
function copyDatabase(file: string, copy: string): void {
  for (let tries = 0; tries < COPY_TRIES; tries++) {
    const before = stateOf(file);
    for (const part of PARTS) {
      rmSync(`${copy}${part}`, { force: true });
      if (existsSync(`${file}${part}`)) copyRegular(`${file}${part}`, `${copy}${part}`);
    }
    if (stateOf(file) === before) return closeCopy(file, copy);
  }
  for (const part of PARTS) rmSync(`${copy}${part}`, { force: true });
  try {
    const options = { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS };
    withDatabase(file, options, (database) => database.prepare("VACUUM INTO ?").run(copy));
  } catch (cause) {
    throw unavailable(
      `${file} is being written and cannot be read; nothing was changed`,
      "stop its broker (palace stop), or make a backup there (palace backup) and import the backup",
      cause,
    );
  }
}

/** Errors: CONFIG_USAGE for anything but a regular file: copying a pipe would wait for a writer for ever. */
function copyRegular(file: string, copy: string): void {
  const stat = statSync(file);
  if (stat.isDirectory()) throw unusable(file, "is a folder, but must be a file");
  if (!stat.isFile()) throw unusable(file, "is a pipe, a socket or a device");
  copyFileSync(file, copy);
}

/** Copies SQLite's log into the copied database, so that the copy is one file. */
function closeCopy(file: string, copy: string): void {
  try {
    closeLog(copy);
  } catch (cause) {
    throw damaged(`${file} is damaged`, "", cause);
  }
}

function stateOf(file: string): string {
  return PARTS.map((part) => {
    const stat = statSync(`${file}${part}`, { throwIfNoEntry: false, bigint: true });
    return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
  }).join();
}

function unusable(path: string, why: string): PalaceError {
  return wrongUsage(
    `${path} ${why}`,
    "name a backup (palace backup makes one), an export or a palace's home: palace import FILE|DIR",
  );
}
