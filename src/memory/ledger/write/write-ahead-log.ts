/** Saves the writes of a log (`FILE-wal`) that was deleted while the database is open. They would be lost when the process ends. */
import { statSync } from "node:fs";
import { PalaceError, unavailable } from "../../../base/errors.ts";
import type { LedgerDatabase } from "../open.ts";

export class WriteAheadLog {
  readonly #database: LedgerDatabase;
  readonly #file: string;
  readonly #name: string;
  /** SQLite keeps the same log while the file is open, so another inode means that somebody deleted or replaced it. */
  readonly #inode: bigint | undefined;

  /** `database` must have `file` open in WAL mode. `name`: the log's name in messages. */
  constructor(database: LedgerDatabase, file: string, name: string) {
    this.#database = database;
    this.#file = `${file}-wal`;
    this.#name = `${name} ${this.#file}`;
    this.#inode = this.#inodeNow();
  }

  isPresent(): boolean {
    return this.#inodeNow() === this.#inode;
  }

  /** If the log was deleted, saves its writes and refuses the next write. Errors: PALACE_GONE, errors of `save`. */
  assertPresent(): void {
    if (this.isPresent()) return;
    this.save();
    throw new PalaceError(
      "PALACE_GONE",
      `${this.#name} vanished while the broker was running; its content is saved, but this call was not written`,
      "leave that file alone, then run `palace restart` and repeat the call",
    );
  }

  /**
   * Copies the log into the ledger and empties the log, so that nobody can put an old log back. Works on a deleted log, because the
   * connection still has it open. Errors: STORE_UNAVAILABLE, SQLite's errors.
   */
  save(): void {
    const [state] = this.#database.pragma("wal_checkpoint(TRUNCATE)") as { log: number; checkpointed: number }[];
    // Both numbers are -1 while another process checkpoints. Equal numbers mean that all is saved, even if the log could not be emptied.
    if (state !== undefined && state.log >= 0 && state.log === state.checkpointed) return;
    throw unavailable(
      `${this.#name} vanished, and its content could not be saved yet`,
      "leave the broker running, and repeat the call in a moment",
    );
  }

  #inodeNow(): bigint | undefined {
    return statSync(this.#file, { throwIfNoEntry: false, bigint: true })?.ino;
  }
}
