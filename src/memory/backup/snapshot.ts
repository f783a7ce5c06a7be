/**
 * Copies the data that cannot be rebuilt, while agents continue to write: the ledger without its free pages, the agents' events, and the
 * files beside them. The ledger is copied as of one moment. A broker rebuilds all other data from the ledger, above all the public palace.
 */
import { createHash } from "node:crypto";
import { copyFileSync, createReadStream, existsSync, lstatSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../base/fault-point.ts";
import type { Steps } from "../../base/job-progress.ts";
import { VERSION } from "../../base/version.ts";
import { damaged } from "../../base/errors.ts";
import { selectValues } from "../ledger/select.ts";
import { assertEvents, closeLog, lookInto, withDatabase } from "./look.ts";
import { EVENTS, LEDGER, SETTINGS_FILES, TOKENS } from "./contents.ts";
import { type BackedUpFile, type ManifestBody, type UnreadFile } from "./manifest.ts";
import { CONFIG, namesNoPlace } from "./config-place.ts";

export type SnapshotSource = {
  home: string;
  ledgerFile: string;
  palaceDir: string;
  /** Home of upstream. Its settings are copied only if it is also the palace's home. */
  settingsDir: string;
  /** The collections of drawers and closets, which are rebuilt from the ledger. */
  collections: readonly string[];
};

const BUSY_TIMEOUT_MS = 5_000;
/** More pages than any file has, so that one step copies the whole file. A copy in several steps starts again after each write. */
const ALL_PAGES = 2 ** 30;

/**
 * Fills an empty folder. Leaves out a file beside the ledger that cannot be read, and names it in the manifest. Errors: STORE_CORRUPT for
 * the ledger, SQLite's and the file system's errors, BROKER_CANCELLED.
 */
export async function takeSnapshot(source: SnapshotSource, folder: string, steps: Steps): Promise<ManifestBody> {
  const madeAtMs = Date.now();
  await steps.step("copying the ledger", 0, 0);
  copyLedger(source.ledgerFile, join(folder, LEDGER));
  faultPoint("backup.after-ledger");
  await steps.step("copying the agents' events", 0, 0);
  const unreadable: UnreadFile[] = [];
  /** A full disk stops the backup. A file that is damaged, or that this user may not read, does not. */
  const part = async (home: string, name: string, copy: (from: string, to: string) => unknown): Promise<void> => {
    const [from, to] = [join(home, name), join(folder, name)];
    if (lstatSync(from, { throwIfNoEntry: false }) === undefined) return;
    try {
      // Opening a pipe would wait for a writer, so check the type first.
      if (!statSync(from).isFile()) throw damaged("it is not a file", "");
      await copy(from, to);
    } catch (error) {
      if (!UNREADABLE.test(String((error as { code?: unknown } | null)?.code ?? ""))) throw error;
      rmSync(to, { force: true });
      unreadable.push({ name, why: `${from}: ${(error as Error).message}` });
    }
  };
  await part(source.palaceDir, EVENTS, copyEvents);
  await part(source.home, TOKENS, copyFileSync);
  if (source.settingsDir === source.home)
    for (const name of SETTINGS_FILES) await part(source.home, name, copySettings);
  await steps.step("reading the copy through", 0, 0);
  const look = lookInto(folder);
  const names = [LEDGER, EVENTS, TOKENS, ...SETTINGS_FILES].filter((name) => existsSync(join(folder, name)));
  const files: BackedUpFile[] = [];
  for (const name of names) files.push(await describe(folder, name));
  faultPoint("backup.after-snapshot");
  return { version: VERSION, madeAtMs, ...look, leftOut: otherCollections(source), unreadable, files };
}

/**
 * Copies the ledger as of one moment, without blocking writers. The copy is not synced: only the archive must survive a power cut, and a
 * sync of a large copy would delay the syncs of writes.
 */
function copyLedger(file: string, copy: string): void {
  withDatabase(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS }, (ledger) => {
    ledger.pragma("synchronous = OFF");
    ledger.prepare("VACUUM INTO ?").run(copy);
  });
}

/** Copies the events with their row numbers, which a vacuum would change. */
async function copyEvents(file: string, copy: string): Promise<void> {
  const events = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    await events.backup(copy, { progress: () => ALL_PAGES });
  } finally {
    events.close();
  }
  assertEvents(copy);
  closeLog(copy);
}

const UNREADABLE =
  /^(?:STORE_CORRUPT|SQLITE_(?:CORRUPT|NOTADB|FORMAT|CANTOPEN|PERM|IOERR_READ)|E(?:ACCES|PERM|IO|ISDIR|LOOP|NOENT))/;

function copySettings(from: string, to: string): void {
  if (basename(from) !== CONFIG || namesNoPlace(from)) copyFileSync(from, to);
}

async function describe(folder: string, name: string): Promise<BackedUpFile> {
  const sum = createHash("sha256");
  let size = 0;
  for await (const piece of createReadStream(join(folder, name))) {
    sum.update(piece as Buffer);
    size += (piece as Buffer).length;
  }
  return { name, size, sha256: sum.digest("hex") };
}

/** Lists collections that older versions of MemPalace have left in the palace. Ignores a palace that cannot be read. */
function otherCollections({ palaceDir, collections }: SnapshotSource): string[] {
  const file = join(palaceDir, "chroma.sqlite3");
  if (!existsSync(file)) return [];
  try {
    const options = { readonly: true, timeout: BUSY_TIMEOUT_MS };
    const sql = "SELECT name FROM collections";
    const names = withDatabase(file, options, (palace) => selectValues<string>(palace, sql));
    return names.filter((name) => !collections.includes(name));
  } catch {
    return [];
  }
}
