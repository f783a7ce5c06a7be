/**
 * The one writer of the ledger: groups of writes become one fsynced transaction. Lives on the writer thread; the thread's
 * entry (broker/writer-thread.ts) gives it the engine's `apply` and feeds it.
 *
 * One group, step by step, with the fault points that the kill test uses between them:
 *   begin → for each write { look up its key → apply → journal } → commit → sync the log → answer
 * A kill before the commit leaves nothing of the group, after it all of it; a write is acknowledged only after the sync.
 * The sync is ours, a fdatasync: SQLite as it is built for Node calls fsync, which also writes the log's time stamps, at a
 * third more a write here and a journal commit more on most file systems. Vectors and the outbox's marks are not
 * synced: what a power cut takes of them is made again, and it never takes a later write without the earlier ones.
 */
import { hash } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, statSync } from "node:fs";
import { faultPoint } from "../../platform/fault.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { RPC } from "../../protocol/spec.ts";
import type { Changes, LedgerTx, NewVector, TakeOver, WriteCall, WriteOutcome } from "../port.ts";
import { ClosetWriter } from "./closet-writer.ts";
import { GraphMerge } from "./graph-merge.ts";
import { openForWriting, translateError, type LedgerDatabase } from "./open.ts";
import { Reindex } from "./reindex.ts";
import { isKnownFolder, LedgerTakeOver } from "./take-over.ts";
import { noChanges, SqliteLedgerTx } from "./transaction.ts";

/** What the engine makes of a write: the value to answer, and whether anything was changed. */
export type ApplyWrite = (tx: LedgerTx, call: WriteCall) => unknown;

export type Quantize = (vector: Float32Array) => { code: Int8Array; scale: number };

/** Longer strings stand in the journal as their length and hash; the text itself is in the drawer. */
const JOURNAL_TEXT_MAX = 256;

const SOURCES_PER_PASS = 16;
/** Pages of full-text segments merged in one step: some milliseconds. */
const MERGE_PAGES = 64;

export class LedgerWriter {
  readonly #file: string;
  readonly #inode: number;
  readonly #database: LedgerDatabase;
  readonly #tx: SqliteLedgerTx;
  readonly #takeOver: LedgerTakeOver;
  readonly #apply: ApplyWrite;
  /** What comes from upstream's graph files, and what has arrived there. */
  readonly graph: GraphMerge;
  readonly closets: ClosetWriter;
  readonly reindex: Reindex;
  #log: number | undefined;
  /** The log could not be synced: what the next sync would say of it is worth nothing (Source: lwn.net/Articles/752063). */
  #unsynced: PalaceError | undefined;
  readonly #statements;

  /** Errors: as openForWriting. */
  constructor(file: string, apply: ApplyWrite) {
    this.#file = file;
    this.#database = openForWriting(file);
    this.#inode = statSync(file).ino;
    this.#apply = apply;
    this.#tx = new SqliteLedgerTx(this.#database);
    this.graph = new GraphMerge(this.#database, (work) => this.#group(work));
    this.closets = new ClosetWriter(this.#database, (work) => this.#group(work));
    this.reindex = new Reindex(this.#database, (work) => this.#group(work));
    this.#takeOver = new LedgerTakeOver(this.#database, this.#tx);
    const prepare = (sql: string) => this.#database.prepare(sql);
    this.#statements = {
      begin: prepare("BEGIN IMMEDIATE"),
      commit: prepare("COMMIT"),
      rollback: prepare("ROLLBACK"),
      journaled: this.#database.prepare<[string], { fingerprint: string; result: string }>(
        "SELECT fingerprint, result FROM journal WHERE key = ?",
      ),
      journal: prepare(
        `INSERT INTO journal (key, fingerprint, at_ms, method, agent, door, uid, pid, request_id, arguments, result)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      // By seq, which rises with the time: an index of the times would cost every write a page.
      forgetKeys: prepare(
        `DELETE FROM journal WHERE seq <
           coalesce((SELECT seq FROM journal WHERE at_ms >= ? ORDER BY seq LIMIT 1), 1 + (SELECT max(seq) FROM journal))`,
      ),
      textVersion: this.#database.prepare<[number], number>("SELECT text_version FROM drawer WHERE row = ?").pluck(),
      putVector: prepare("INSERT OR REPLACE INTO vector VALUES (?, ?)"),
      putCode: prepare("INSERT OR REPLACE INTO vector_code VALUES (?, ?, ?)"),
      outboxDone: prepare("DELETE FROM outbox WHERE id = ? AND seq = ?"),
      putMeta: prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)"),
      getMeta: this.#database.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck(),
      listAll: prepare(
        `INSERT OR REPLACE INTO outbox (id, at_ms)
           SELECT d.id, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM drawer d JOIN vector v ON v.row = d.row ORDER BY d.row`,
      ),
      listOne: prepare(
        `INSERT OR REPLACE INTO outbox (id, at_ms)
           SELECT d.id, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM drawer d JOIN vector v ON v.row = d.row WHERE d.id = ?`,
      ),
      dirtySources: this.#database.prepare<[number], string>("SELECT source_file FROM source_dirty LIMIT ?").pluck(),
      cleanSource: prepare("DELETE FROM source_dirty WHERE source_file = ?"),
      sourceRow: this.#database.prepare<[string], number>("SELECT row FROM source WHERE source_file = ?").pluck(),
      makeSource: prepare(
        `INSERT INTO source (source_file, wing, mtime, sha256, drawers)
           SELECT source_file, min(wing), 0, '', count(*) FROM drawer WHERE source_file = ? GROUP BY source_file`,
      ),
      dropSource: prepare("DELETE FROM source WHERE row = ?"),
      sourceTexts: this.#database
        .prepare<[string], string>("SELECT text || ' ' || date_words FROM drawer WHERE source_file = ? ORDER BY row")
        .pluck(),
      dropSourceText: prepare("DELETE FROM source_fts WHERE rowid = ?"),
      totalChanges: this.#database.prepare<[], number>("SELECT total_changes()").pluck(),
      mergeSegments: prepare(`INSERT INTO drawer_fts (drawer_fts, rank) VALUES ('merge', ${MERGE_PAGES})`),
      putSourceText: prepare("INSERT INTO source_fts (rowid, text) VALUES (?, ?)"),
    };
  }

  /** Commits the calls as one group. Never throws: each call gets its outcome. */
  commit(calls: readonly WriteCall[]): { outcomes: WriteOutcome[]; changes: Changes } {
    const statements = this.#statements;
    /** Writes that failed when they had changed something already: the group was done again without them. */
    const refused = new Map<WriteCall, WriteOutcome>();
    try {
      this.#assertPresent();
      for (;;) {
        faultPoint("commit.before-begin");
        statements.begin.run();
        const outcomes = this.#applyAll(calls, refused);
        if (outcomes === undefined) {
          statements.rollback.run();
          this.#tx.takeChanges();
          continue;
        }
        faultPoint("commit.before-commit");
        statements.commit.run();
        faultPoint("commit.before-sync");
        this.#sync();
        faultPoint("commit.after-sync");
        return { outcomes, changes: this.#tx.takeChanges() };
      }
    } catch (error) {
      if (this.#database.inTransaction) statements.rollback.run();
      this.#tx.takeChanges();
      return {
        outcomes: calls.map(() => failed(translateError(error, this.#file))),
        changes: noChanges(),
      };
    }
  }

  /**
   * Undefined: a write failed half-way, is in `refused` now, and everything has to be done again. A savepoint for each write
   * would do as well, but at each one FTS5 writes its collected words out, and failing half-way is rare.
   */
  #applyAll(calls: readonly WriteCall[], refused: Map<WriteCall, WriteOutcome>): WriteOutcome[] | undefined {
    const outcomes: WriteOutcome[] = [];
    for (const call of calls) {
      const outcome = refused.get(call) ?? this.#applyOne(call);
      if (this.#tx.isHalfDone) {
        refused.set(call, outcome);
        return undefined;
      }
      outcomes.push(outcome);
    }
    return outcomes;
  }

  #applyOne(call: WriteCall): WriteOutcome {
    const statements = this.#statements;
    const full = JSON.stringify(call.params);
    const fingerprint = sha256(`${call.method}\n${full}`).slice(0, 32);
    const before = statements.journaled.get(call.key);
    if (before !== undefined) {
      if (before.fingerprint === fingerprint)
        return { outcome: { ok: true, value: JSON.parse(before.result) }, replayed: true };
      return failed(
        new PalaceError(
          "PROTOCOL_KEY_REUSED",
          `idempotency key ${call.key} was used for another call`,
          "make a new key for each call",
        ),
      );
    }
    try {
      const value = this.#apply(this.#tx, call);
      faultPoint("commit.after-apply");
      // Also what changed nothing: "not found", repeated after somebody else filed it, must not delete it then.
      if (call.isRepeatable || this.#tx.changeCount() > 0) {
        const { agent, door, uid, pid } = call.peer;
        const parameters = JSON.stringify(call.params, shorten);
        const result = JSON.stringify(value);
        statements.journal.run(
          call.key,
          fingerprint,
          call.atMs,
          call.method,
          agent,
          door,
          uid,
          pid,
          call.requestId,
          parameters,
          result,
        );
        faultPoint("commit.after-journal");
      }
      this.#tx.keepChanges();
      return { outcome: { ok: true, value }, replayed: false };
    } catch (error) {
      // SQLite itself may have ended the transaction (disk full): then the whole group fails, and says so.
      if (!this.#database.inTransaction || isStoreError(error)) throw error;
      return failed(error);
    }
  }

  /** Files vectors; one whose drawer is gone or has other text by now is dropped. */
  storeVectors(vectors: readonly NewVector[], model: string, quantize: Quantize): Changes {
    const written: number[] = [];
    this.#group(() => {
      this.#recordModel(model);
      for (const vector of vectors) if (this.#putVector(vector, quantize)) written.push(vector.row);
      faultPoint("vectors.before-commit");
    });
    faultPoint("vectors.after-commit");
    return { ...noChanges(), written };
  }

  /** Takes over what others wrote into the palace; see take-over.ts. */
  takeOver(batch: TakeOver, quantize: Quantize): { taken: number; changes: Changes } {
    return this.#takeOver.commit(
      batch,
      (work) => this.#group(work),
      (model) => this.#recordModel(model),
      (vector) => this.#putVector(vector, quantize),
    );
  }

  #recordModel(model: string): void {
    if (this.#statements.getMeta.get("model") === undefined) this.#statements.putMeta.run("model", model);
  }

  /** False: its drawer is gone or has other text by now. */
  #putVector({ row, textVersion: version, vector }: NewVector, quantize: Quantize): boolean {
    const { textVersion, putVector, putCode } = this.#statements;
    if (textVersion.get(row) !== version) return false;
    const { code, scale } = quantize(vector);
    putVector.run(row, Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
    putCode.run(row, Buffer.from(code.buffer, code.byteOffset, code.byteLength), scale);
    return true;
  }

  outboxDone(entries: readonly { id: string; seq: number }[]): void {
    this.#group(() => {
      for (const { id, seq } of entries)
        if (this.#statements.outboxDone.run(id, seq).changes > 0) this.#tx.adopted.drop(id);
    });
  }

  /** Lists everything again for a palace that was not the one written to so far. */
  retarget(target: string): void {
    const { getMeta, putMeta, listAll } = this.#statements;
    const before = getMeta.get("driver_target");
    if (before === target) return;
    this.#group(() => {
      if (!isKnownFolder(before, target)) listAll.run();
      putMeta.run("driver_target", target);
    });
  }

  /** Lists drawers again that the palace has lost. Those without a vector are listed when they have one. */
  resend(ids: readonly string[] | "all"): void {
    const { listAll, listOne } = this.#statements;
    this.#group(() => {
      if (ids === "all") listAll.run();
      else for (const id of ids) listOne.run(id);
    });
  }

  putMeta(key: string, value: string): void {
    this.#group(() => void this.#statements.putMeta.run(key, value));
  }

  /**
   * One bounded step of what can wait for a quiet moment: the whole-source full text of sources that changed, then the merging
   * of full-text segments. True if there is more. Apart from the write path because a source is written anew as a whole: one
   * that grows drawer by drawer would cost the square of its size.
   */
  maintain(): boolean {
    return this.#indexSources() || this.#mergeSegments();
  }

  #indexSources(): boolean {
    const { dirtySources, cleanSource, sourceRow, makeSource, dropSource, sourceTexts, dropSourceText, putSourceText } =
      this.#statements;
    const sources = dirtySources.all(SOURCES_PER_PASS);
    if (sources.length === 0) return false;
    this.#group(() => {
      for (const source of sources) {
        const texts = sourceTexts.all(source);
        if (texts.length > 0 && sourceRow.get(source) === undefined) makeSource.run(source);
        const row = sourceRow.get(source);
        if (row !== undefined) {
          dropSourceText.run(row);
          if (texts.length > 0) putSourceText.run(row, texts.join("\n"));
          else dropSource.run(row);
        }
        cleanSource.run(source);
      }
    });
    return true;
  }

  /** FTS5 says by the number of changes whether it found anything to merge. */
  #mergeSegments(): boolean {
    const { totalChanges, mergeSegments } = this.#statements;
    const before = totalChanges.get() ?? 0;
    this.#group(() => void mergeSegments.run());
    return (totalChanges.get() ?? 0) - before >= 2;
  }

  /** Forgets journal rows older than the moment; their keys may then be used again. */
  forgetKeys(beforeMs: number): void {
    this.#group(() => void this.#statements.forgetKeys.run(beforeMs));
  }

  /** Closing removes the write-ahead log by its path: never where another ledger stands at that path by now. */
  close(): void {
    if (this.#log !== undefined) closeSync(this.#log);
    if (this.#isPresent()) this.#database.close();
  }

  #group(work: () => void): void {
    this.#assertPresent();
    try {
      this.#database.transaction(work).immediate();
    } catch (error) {
      throw translateError(error, this.#file);
    }
  }

  #isPresent(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#inode;
  }

  #sync(): void {
    try {
      this.#log ??= openSync(`${this.#file}-wal`, "r+");
      fdatasyncSync(this.#log);
    } catch (cause) {
      this.#unsynced = new PalaceError(
        "STORE_UNAVAILABLE",
        `the disk did not take what was written to ${this.#file}; whether it is kept shows after a restart`,
        "look at the disk, then run `palace restart` and repeat the last calls",
        { cause },
      );
      throw this.#unsynced;
    }
  }

  /** A ledger that was deleted or replaced would take writes that nobody finds again. */
  #assertPresent(): void {
    if (this.#unsynced !== undefined) throw this.#unsynced;
    if (this.#isPresent()) return;
    throw new PalaceError(
      "PALACE_GONE",
      `the ledger ${this.#file} vanished while the broker was running; nothing was written`,
      "put the folder back (it was moved or deleted), then run `palace restart`",
    );
  }
}

function failed(error: unknown): WriteOutcome {
  if (error instanceof PalaceError) {
    return {
      outcome: { ok: false, error: { code: RPC.SERVER_ERROR, message: error.message, data: error.toWire() } },
      replayed: false,
    };
  }
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return {
    outcome: {
      ok: false,
      error: { code: RPC.SERVER_ERROR, message: "Internal tool error", data: { error_class: name, message } },
    },
    replayed: false,
  };
}

function isStoreError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  // A constraint or a value that does not fit concerns the one write that brought it.
  return (
    typeof code === "string" &&
    /^(SQLITE_|E[A-Z]+$)/.test(code) &&
    !/^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(code)
  );
}

function shorten(_key: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= JOURNAL_TEXT_MAX) return value;
  return `[${value.length} characters, sha256 ${sha256(value)}]`;
}

function sha256(text: string): string {
  return hash("sha256", text);
}
