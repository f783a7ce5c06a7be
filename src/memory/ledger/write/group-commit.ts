/**
 * Writes the ledger: commits a group of writes as one transaction, and acknowledges the writes after the log is synced. After a kill, the
 * ledger has all writes of a group or none. The writer calls fdatasync itself, because Node's SQLite calls fsync, which also writes the
 * log's time stamps and makes a write a third slower. Vectors and outbox entries are not synced: after a power cut the broker makes lost
 * ones again. If a power cut loses a write, it also loses all later writes.
 */
import { closeSync, openSync, statSync } from "node:fs";
import { type Moment, passedMs } from "../../../base/uptime.ts";
import { faultPoint } from "../../../base/fault-point.ts";
import { syncData } from "../../../base/folders.ts";
import { bytesOf, quantize } from "../../../base/quantize.ts";
import type { Changes, LedgerTx, NewVector, Derived, WriteCall, WriteOutcome } from "../../port/ledger.ts";
import type { AdoptionBatch } from "../../port/public-palace.ts";
import { keyReused, PalaceError, unavailable } from "../../../base/errors.ts";
import { SOURCE_PARTS_KEPT_MS } from "../../../protocol/limits.ts";
import { rpcErrorOf } from "../../../protocol/rpc-error.ts";
import { SqliteForget } from "../forget/forget.ts";
import { fingerprintOf, Journal, type Retention } from "../history/journal.ts";
import { SqliteUndo } from "../history/undo.ts";
import { openForWriting, translateError, type LedgerDatabase } from "../open.ts";
import { DRAWERS } from "../outbox-kinds.ts";
import { floatBytes } from "../record.ts";
import { GraphMerge } from "../tables/graph-merge.ts";
import { LedgerTables, noChanges } from "../tables/tables.ts";
import { RowAdopter } from "./adopt-rows.ts";
import { ClosetWriter } from "./closet-writer.ts";
import { LedgerEraser } from "./eraser.ts";
import { Maintenance } from "./maintenance.ts";
import { OutboxList } from "./outbox-list.ts";
import { Reindex } from "./reindex.ts";
import { WriteAheadLog } from "./write-ahead-log.ts";

/** Applies one write inside the transaction and returns the value to answer. */
export type ApplyWrite = (tx: LedgerTx, call: WriteCall) => unknown;

/** Interval at which the writer deletes old keys and before-images. */
const PRUNE_EVERY_MS = 3_600_000;
/** Maximum step of `prunedAtMs`, the time from which ages count. Without it, a clock set years ahead would expire all keys at once. */
const PRUNE_STEP_MAX_MS = 86_400_000;
/** After the first pruning, `prunedAtMs` moves at most this many times as fast as real time, until it reaches the machine's clock. */
const PRUNE_SPEED_MAX = 2;

class SqliteLedgerTx extends LedgerTables implements LedgerTx {
  readonly forget: SqliteForget;
  readonly undo: SqliteUndo;

  constructor(database: LedgerDatabase, derived?: Derived) {
    super(database, derived);
    this.forget = new SqliteForget(database, this);
    this.undo = new SqliteUndo(database, this);
  }
}

export class LedgerWriter {
  readonly #file: string;
  readonly #inode: number;
  readonly #database: LedgerDatabase;
  readonly #wal: WriteAheadLog;
  /** For reading only: every change must be part of a group. */
  readonly tx: SqliteLedgerTx;
  readonly #adopter: RowAdopter;
  readonly #apply: ApplyWrite;
  readonly #journal: Journal;
  readonly #maintenance: Maintenance;
  /** Time of the last pruning, by the monotonic clock. */
  #prunedAt = Number.NEGATIVE_INFINITY;
  readonly eraser: LedgerEraser;
  readonly graph: GraphMerge;
  readonly closets: ClosetWriter;
  readonly outbox: OutboxList;
  readonly reindex: Reindex;
  #log: number | undefined;
  /** Error of a failed sync of the log. All writing then ends, because a later sync proves nothing (Source: lwn.net/Articles/752063). */
  #unsynced: PalaceError | undefined;
  readonly #statements;

  /** Errors: as openForWriting. */
  constructor(file: string, apply: ApplyWrite, derived?: Derived) {
    this.#file = file;
    this.#database = openForWriting(file);
    this.#inode = statSync(file).ino;
    this.#wal = new WriteAheadLog(this.#database, file, "the ledger's log");
    this.#apply = apply;
    this.tx = new SqliteLedgerTx(this.#database, derived);
    this.graph = new GraphMerge(this.#database, (work) => this.#group(work));
    this.closets = new ClosetWriter(this.#database, (work) => this.#group(work));
    this.reindex = new Reindex(this.#database, (work) => this.#group(work));
    const onDone = (id: string): void => this.tx.adopted.drop(id);
    this.outbox = new OutboxList(this.#database, DRAWERS, (work) => this.#group(work), onDone);
    this.#adopter = new RowAdopter(this.#database, this.tx, this.outbox);
    this.#journal = new Journal(this.#database);
    this.#maintenance = new Maintenance(this.#database, (work) => this.#group(work), this.tx);
    this.eraser = new LedgerEraser(this.#database, this.#maintenance, (work) => this.#group(work));
    const prepare = (sql: string) => this.#database.prepare(sql);
    this.#statements = {
      begin: prepare("BEGIN IMMEDIATE"),
      commit: prepare("COMMIT"),
      rollback: prepare("ROLLBACK"),
      textVersion: this.#database.prepare<[number], number>("SELECT text_version FROM drawer WHERE row = ?").pluck(),
      putVector: prepare("INSERT OR REPLACE INTO vector VALUES (?, ?)"),
      putCode: prepare("INSERT OR REPLACE INTO vector_code VALUES (?, ?, ?)"),
      putMeta: prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)"),
      recordModel: prepare("INSERT OR IGNORE INTO meta VALUES ('model', ?)"),
    };
  }

  /** Commits the calls as one group. Never throws: each call gets its outcome. */
  commit(calls: readonly WriteCall[]): { outcomes: WriteOutcome[]; changes: Changes } {
    const statements = this.#statements;
    /** Writes that failed after they had changed something. The group is applied again without them. */
    const refused = new Map<WriteCall, WriteOutcome>();
    try {
      this.assertPresent();
      for (;;) {
        faultPoint("commit.before-begin");
        statements.begin.run();
        const outcomes = this.#applyAll(calls, refused);
        if (outcomes === undefined) {
          statements.rollback.run();
          this.tx.takeChanges();
          continue;
        }
        faultPoint("commit.before-commit");
        statements.commit.run();
        faultPoint("commit.before-sync");
        this.#sync();
        faultPoint("commit.after-sync");
        if (!this.#wal.isPresent()) this.#wal.save();
        return { outcomes, changes: this.tx.takeChanges() };
      }
    } catch (error) {
      if (this.#database.inTransaction) statements.rollback.run();
      this.tx.takeChanges();
      return { outcomes: calls.map(() => failed(translateError(error, this.#file))), changes: noChanges() };
    }
  }

  /**
   * Returns undefined if a write failed half-way: it is then in `refused`, and the group must be applied again. A savepoint for each write
   * would be simpler, but FTS5 writes its collected words out at each savepoint.
   */
  #applyAll(calls: readonly WriteCall[], refused: Map<WriteCall, WriteOutcome>): WriteOutcome[] | undefined {
    const outcomes: WriteOutcome[] = [];
    for (const call of calls) {
      const outcome = refused.get(call) ?? this.#applyOne(call);
      if (this.tx.isHalfDone) {
        refused.set(call, outcome);
        return undefined;
      }
      outcomes.push(outcome);
    }
    return outcomes;
  }

  #applyOne(call: WriteCall): WriteOutcome {
    const fingerprint = fingerprintOf(call);
    const known = this.#journal.find(call.key, fingerprint) ?? this.tx.answerTo(call.key, fingerprint);
    if (known === "other") return failed(keyReused());
    if (known !== undefined) return { outcome: { ok: true, value: known.value }, replayed: true };
    try {
      const value = this.#apply(this.tx, call);
      faultPoint("commit.after-apply");
      // A repeatable call is journaled even if it changed no row. Otherwise a repeated delete that found no drawer could delete a drawer
      // that somebody filed in between.
      if (call.isRepeatable || this.tx.changeCount() > 0)
        this.#journal.add(call, fingerprint, value, this.tx.images.take());
      this.tx.keepChanges();
      return { outcome: { ok: true, value }, replayed: false };
    } catch (error) {
      // SQLite itself may have ended the transaction (disk full). The whole group then fails.
      if (!this.#database.inTransaction || isStoreError(error)) throw error;
      return failed(error);
    }
  }

  /** Stores drawers' vectors. Skips a drawer that was deleted or got another text meanwhile. */
  storeVectors(vectors: readonly NewVector[], model: string): Changes {
    const written: number[] = [];
    this.#group(() => {
      this.#statements.recordModel.run(model);
      for (const { row, textVersion, vector } of vectors) {
        if (this.#statements.textVersion.get(row) !== textVersion) continue;
        this.#putVector(row, vector);
        written.push(row);
      }
      faultPoint("vectors.before-commit");
    });
    faultPoint("vectors.after-commit");
    return { ...noChanges(), written };
  }

  adopt(batch: AdoptionBatch): { taken: number; changes: Changes } {
    return this.#adopter.commit(
      batch,
      (work) => this.#group(work),
      (model) => void this.#statements.recordModel.run(model),
      (row, vector) => this.#putVector(row, vector),
    );
  }

  #putVector(row: number, vector: Float32Array): void {
    const made = quantize(vector);
    this.#statements.putVector.run(row, floatBytes(vector));
    this.#statements.putCode.run(row, bytesOf(made), made.scale);
  }

  putMeta(key: string, value: string): void {
    this.#group(() => void this.#statements.putMeta.run(key, value));
  }

  /** Does one bounded step. Returns true if there is more to do. */
  maintain(retention: Retention, now: Moment): boolean {
    if (this.#maintenance.step()) return true;
    if (performance.now() - this.#prunedAt < PRUNE_EVERY_MS) return false;
    const last = this.#journal.prunedAt;
    const stepMs = last === undefined ? PRUNE_STEP_MAX_MS : PRUNE_SPEED_MAX * passedMs(last, now, PRUNE_STEP_MAX_MS);
    const more = this.prune(retention, now.wallMs, stepMs);
    if (more) return true;
    this.#prunedAt = performance.now();
    this.#group(() => void (this.#journal.prunedAt = now));
    return false;
  }

  /** Deletes expired keys and before-images. Advances `prunedAtMs` by at most `stepMs`. Returns true if there is more to do. */
  prune(retention: Retention, now: number, stepMs = PRUNE_STEP_MAX_MS): boolean {
    let more = false;
    this.#group(() => {
      const believed = Math.min(now, this.#journal.prunedAtMs + stepMs);
      more = this.#journal.prune(retention, believed);
      this.tx.parts.dropBefore(believed - SOURCE_PARTS_KEPT_MS);
      if (!more) this.#journal.prunedAtMs = believed;
    });
    return more;
  }

  shrinkCache(): void {
    this.#database.pragma("shrink_memory");
  }

  /** SQLite deletes the log by its path when it closes, so the database stays open if another ledger is at that path. */
  close(): void {
    if (this.#log !== undefined) closeSync(this.#log);
    if (this.#isPresent()) this.#database.close();
  }

  #group(work: () => void): void {
    this.assertPresent();
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
      syncData(this.#log);
    } catch (cause) {
      this.#unsynced = unavailable(
        `the disk did not confirm a write to ${this.#file}; only a restart shows whether the write is stored`,
        "look at the disk, then run `palace restart` and repeat the last calls",
        cause,
      );
      throw this.#unsynced;
    }
  }

  /**
   * Refuses to write if the ledger or its log was deleted or replaced, because the write would be lost. Saves the writes of a deleted log.
   * Errors: PALACE_GONE, STORE_*.
   */
  assertPresent(): void {
    if (this.#unsynced !== undefined) throw this.#unsynced;
    if (!this.#isPresent())
      throw new PalaceError(
        "PALACE_GONE",
        `the ledger ${this.#file} vanished while the broker was running; nothing was written`,
        "put the folder back (it was moved or deleted), then run `palace restart`",
      );
    this.#wal.assertPresent();
  }
}

export function failed(error: unknown): WriteOutcome {
  return { outcome: { ok: false, error: rpcErrorOf(error) }, replayed: false };
}

function isStoreError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  // A violated constraint or an invalid value fails only its own write.
  return (
    typeof code === "string" &&
    /^(SQLITE_|E[A-Z]+$)/.test(code) &&
    !/^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(code)
  );
}
