/** Opens the coordination log at its first use. Several MemPalaces may use it at the same time: each write is one short transaction. */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import { WriteAheadLog } from "../../memory/ledger/write/write-ahead-log.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { PalaceError } from "../../base/errors.ts";
import { prepareSchema } from "./schema.ts";
import { replicaId } from "./replica.ts";

export type LogPaths = {
  palaceDir: string;
  ledgerFile: string;
};

/** Maximum time to wait for another process's commit, ms. */
const BUSY_TIMEOUT_MS = 5_000;

export class LogFile {
  readonly #paths: LogPaths;
  readonly file: string;
  #database: LedgerDatabase | undefined;
  #wal: WriteAheadLog | undefined;
  #inode = 0n;
  #replicaId: string | undefined;

  constructor(paths: LogPaths) {
    this.#paths = paths;
    this.file = join(paths.palaceDir, "logstream.sqlite3");
  }

  replicaId(): string {
    return (this.#replicaId ??= replicaId(this.#paths.palaceDir));
  }

  /** Opens the file, or returns the open connection. `onOpen` prepares a new connection. Errors: PALACE_GONE, STORE_CORRUPT, SQLite's. */
  open(onOpen: (database: LedgerDatabase) => void): LedgerDatabase {
    const inode = statSync(this.file, { throwIfNoEntry: false, bigint: true })?.ino;
    if (this.#database !== undefined && inode === this.#inode) return this.#database;
    this.close();
    if (!existsSync(this.#paths.ledgerFile))
      throw new PalaceError(
        "PALACE_GONE",
        `the ledger ${this.#paths.ledgerFile} vanished while the broker was running; nothing was written`,
        "put the folder back (it was moved or deleted), then run `palace restart`",
      );
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    // Creates the file with mode 0600, which SQLite then also gives to the write-ahead log.
    if (inode === undefined) closeSync(openSync(this.file, "a", 0o600));
    const database = new Database(this.file, { timeout: BUSY_TIMEOUT_MS });
    try {
      database.pragma("journal_mode = WAL");
      // An acknowledged write must survive a power cut.
      database.pragma("synchronous = FULL");
      database.pragma("foreign_keys = OFF");
      faultPoint("log.before-schema");
      prepareSchema(database, () => this.replicaId());
      faultPoint("log.after-schema");
      onOpen(database);
    } catch (error) {
      database.close();
      throw error;
    }
    this.#database = database;
    this.#wal = new WriteAheadLog(database, this.file, "the write-ahead log");
    this.#inode = statSync(this.file, { bigint: true }).ino;
    return database;
  }

  /** Runs `commit`. If the write-ahead log was deleted meanwhile, saves its content before it returns the result. */
  guard<T>(commit: () => T): T {
    this.assertPresent();
    const result = commit();
    if (this.#isWalGone()) this.#wal?.save();
    return result;
  }

  /** If the write-ahead log was deleted, saves its content and throws. Errors: PALACE_GONE, STORE_UNAVAILABLE. */
  assertPresent(): void {
    if (this.#isWalGone()) this.#wal?.assertPresent();
  }

  /** Returns true if the open file's write-ahead log was deleted; false if another file replaced the open file. */
  #isWalGone(): boolean {
    const inode = statSync(this.file, { throwIfNoEntry: false, bigint: true })?.ino;
    return this.#wal !== undefined && inode === this.#inode && !this.#wal.isPresent();
  }

  /** Returns a value that changes if another process commits, or another file replaces this one. */
  version(): string {
    const inode = statSync(this.file, { throwIfNoEntry: false, bigint: true })?.ino;
    if (this.#database === undefined || inode !== this.#inode) return `other ${inode ?? "none"}`;
    return String(this.#database.pragma("data_version", { simple: true }));
  }

  /** Saves a deleted write-ahead log before closing, because SQLite saves it only if no other process has the file open. */
  close(): void {
    try {
      if (this.#isWalGone()) this.#wal?.save();
    } finally {
      this.#database?.close();
      this.#database = undefined;
      this.#wal = undefined;
      this.#replicaId = undefined;
    }
  }
}
