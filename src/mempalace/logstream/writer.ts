/** Writes several calls in one transaction, with their idempotency keys and answers: a repeated call gets its first answer. */
import { fingerprintOf } from "../../memory/ledger/history/journal.ts";
import { type LedgerDatabase, translateError } from "../../memory/ledger/open.ts";
import { failed } from "../../memory/ledger/write/group-commit.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { isRecord } from "../../base/parse-json.ts";
import type { WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import type { LogstreamTx, StreamEvent } from "../../memory/port/logstream.ts";
import { keyReused } from "../../base/errors.ts";

/** Applies one write to the coordination log. The answer has the new event under `event` or `task`. */
export type ApplyToLog = (tx: LogstreamTx, call: WriteCall) => unknown;

/** Maximum number of expired idempotency keys that one commit deletes. */
const PRUNED_PER_COMMIT = 100;

export class LogWriter {
  readonly #database: LedgerDatabase;
  readonly #file: string;
  readonly #tx: LogstreamTx;
  readonly #apply: ApplyToLog;
  readonly #refusalOf: (error: unknown) => unknown;
  readonly #keptMs: number;
  readonly #statements;

  constructor(options: {
    database: LedgerDatabase;
    file: string;
    tx: LogstreamTx;
    apply: ApplyToLog;
    /** Returns the answer for an error of `apply` that is a refusal; undefined for other errors. */
    refusalOf: (error: unknown) => unknown;
    keptMs: number;
  }) {
    const { database, file, tx, apply, refusalOf, keptMs } = options;
    this.#database = database;
    this.#file = file;
    this.#tx = tx;
    this.#apply = apply;
    this.#refusalOf = refusalOf;
    this.#keptMs = keptMs;
    this.#statements = {
      find: database.prepare<[string], { fingerprint: string; result: string }>(
        "SELECT fingerprint, result FROM palace_devbox_writes WHERE key = ?",
      ),
      add: database.prepare(
        `INSERT INTO palace_devbox_writes (key, fingerprint, at_ms, method, agent, door, uid, pid, result)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      prune: database.prepare(
        `DELETE FROM palace_devbox_writes WHERE key IN (
           SELECT key FROM palace_devbox_writes WHERE at_ms < ? ORDER BY at_ms LIMIT ?)`,
      ),
    };
  }

  /** Returns one outcome for each call, in order. If the database fails, it writes no call, and each outcome is an error. Never throws. */
  commit(calls: readonly WriteCall[]): WriteOutcome[] {
    try {
      faultPoint("log.before-begin");
      const outcomes = this.#database
        .transaction(() => {
          const made = calls.map((call) => this.#applyOne(call));
          this.#statements.prune.run(Date.now() - this.#keptMs, PRUNED_PER_COMMIT);
          faultPoint("log.before-commit");
          return made;
        })
        .immediate();
      faultPoint("log.after-commit");
      return outcomes;
    } catch (error) {
      const known = translateError(error, this.#file);
      return calls.map(() => failed(known));
    }
  }

  #applyOne(call: WriteCall): WriteOutcome {
    const fingerprint = fingerprintOf(call);
    const known = this.#statements.find.get(call.key);
    if (known !== undefined) {
      if (known.fingerprint === fingerprint)
        return { outcome: { ok: true, value: this.#again(known.result) }, replayed: true };
      return failed(keyReused());
    }
    try {
      // This nested transaction is a savepoint: a failed call leaves no partial write, and the other calls go on.
      const value = this.#database.transaction(() => {
        const answer = this.#apply(this.#tx, call);
        faultPoint("log.after-apply");
        this.#note(call, fingerprint, answer);
        return answer;
      })();
      return { outcome: { ok: true, value }, replayed: false };
    } catch (error) {
      // If SQLite has ended the whole transaction (disk full) or the store failed, the whole group fails.
      if (!this.#database.inTransaction || isStoreError(error)) throw error;
      const refusal = this.#refusalOf(error);
      if (refusal === undefined) return failed(error);
      // Stores the refusal, so that a repeated call is also refused, even if it would be valid by then.
      this.#note(call, fingerprint, refusal);
      return { outcome: { ok: true, value: refusal }, replayed: false };
    }
  }

  #note(call: WriteCall, fingerprint: string, answer: unknown): void {
    if (!call.isRepeatable) return;
    const { agent, door, uid, pid } = call.peer;
    const result = JSON.stringify(withEvents(answer, ({ id, artifact_ids }) => ({ id, artifact_ids })));
    this.#statements.add.run(call.key, fingerprint, Date.now(), call.method, agent, door, uid, pid, result);
    faultPoint("log.after-key");
  }

  #again(result: string): unknown {
    return withEvents(JSON.parse(result), ({ id, artifact_ids }) => ({ ...this.#tx.event(id), artifact_ids }));
  }
}

/** Applies `change` to the event in an answer. Stored answers have only the event's ids, because events never change. */
function withEvents(answer: unknown, change: (event: Pick<StreamEvent, "id" | "artifact_ids">) => unknown): unknown {
  if (!isRecord(answer)) return answer;
  const entries = Object.entries(answer).map(([key, value]) => [
    key,
    key === "event" || key === "task" ? change(value as StreamEvent) : value,
  ]);
  return Object.fromEntries(entries) as unknown;
}

function isStoreError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && code.startsWith("SQLITE_");
}
