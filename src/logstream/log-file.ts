/**
 * logstream.sqlite3: opened at the first use, and again when another file stands in its place. Any number of MemPalaces
 * of this machine may use it meanwhile: every write is one short SQLite transaction. Runs on the log's thread.
 */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import type { LedgerDatabase } from "../ledger/open.ts";
import { faultPoint } from "../platform/fault.ts";
import { PalaceError } from "../protocol/errors.ts";
import { prepareSchema } from "./schema.ts";
import { replicaId } from "./replica.ts";

export type LogPaths = {
  /** MemPalace's palace directory, which holds the file. */
  palaceDir: string;
  /** If this file is gone, the palace is gone. */
  ledgerFile: string;
};

/** This thread waits at most this long for another process's commit. */
const BUSY_TIMEOUT_MS = 5_000;

export class LogFile {
  readonly #paths: LogPaths;
  readonly file: string;
  #database: LedgerDatabase | undefined;
  #inode = 0n;
  #replicaId: string | undefined;

  constructor(paths: LogPaths) {
    this.#paths = paths;
    this.file = join(paths.palaceDir, "logstream.sqlite3");
  }

  replicaId(): string {
    return (this.#replicaId ??= replicaId(this.#paths.palaceDir));
  }

  /** `onOpen` prepares what belongs to one connection. Errors: PALACE_GONE, STORE_CORRUPT, SQLite's, the file system's. */
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
    // SQLite gives its log the same mode.
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
    this.#inode = statSync(this.file, { bigint: true }).ino;
    return database;
  }

  /** Changes whenever another process has committed, or another file stands here. */
  version(): string {
    const inode = statSync(this.file, { throwIfNoEntry: false, bigint: true })?.ino;
    if (this.#database === undefined || inode !== this.#inode) return `other ${inode ?? "none"}`;
    return String(this.#database.pragma("data_version", { simple: true }));
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
    this.#replicaId = undefined;
  }
}
