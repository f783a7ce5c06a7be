/** The journal: who wrote what and when, what the write changed, and the answer for a repeated key. */
import { hash } from "node:crypto";
import { isMoment, type Moment } from "../../../base/uptime.ts";
import { faultPoint } from "../../../base/fault-point.ts";
import { parseJson } from "../../../base/parse-json.ts";
import { isRefusal } from "../../../protocol/tools/result.ts";
import type { WriteCall } from "../../port/ledger.ts";
import { readAnyColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import type { Image } from "../tables/before-images.ts";

/** Maximum length of a string in the journal. Of a longer string the journal stores length and hash; the drawer has the text. */
const TEXT_MAX = 256;
/** Fingerprint of a write whose text was forgotten. Any call with the write's key then gets the stored answer. */
const FORGOTTEN = "";

/** Times to keep keys and before-images. If all before-images together exceed `imagesBytes`, the oldest are deleted first. */
export type Retention = { journalRetentionMs: number; undoMs: number; imagesBytes: number };

/** Maximum number of rows per step. A step takes some milliseconds, and other writes run in between. */
const PRUNED_PER_STEP = 2_000;

/** Matches every answer of a refused write, and some other answers. */
const REFUSING = /"(?:success":false|error|isError)/;

/** Adds the SQL function `is_refusal`. Undo skips refused writes, which the journal keeps only to answer repeated calls. */
export function defineIsRefusal(database: LedgerDatabase): void {
  database.function("is_refusal", { deterministic: true }, (result) =>
    typeof result === "string" && REFUSING.test(result) && isRefusal(parseJson(result)) ? 1 : 0,
  );
}

export class Journal {
  readonly #statements;

  constructor(database: LedgerDatabase) {
    const prepare = (sql: string) => database.prepare(sql);
    this.#statements = {
      find: database.prepare<[string], { fingerprint: string; result: string }>(
        "SELECT fingerprint, result FROM journal WHERE key = ?",
      ),
      add: prepare(
        `INSERT INTO journal (key, fingerprint, at_ms, method, agent, door, uid, pid, request_id, arguments, result)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      addClaim: prepare("INSERT INTO journal_claim (journal, claimed_ms) VALUES (?, ?)"),
      addImage: prepare("INSERT INTO change (journal, kind, id, before, after) VALUES (?, ?, ?, ?, ?)"),
      // Finds the `seq` of the first row to keep. Takes the first row within the retention; the last expired row before it is the last row
      // to delete. Searches by `seq`, because an index of the times would cost every write a page. A row dated after `now` is from a clock
      // that was ahead, and is kept until an expired row follows.
      firstSince: database
        .prepare<{ since: number; now: number }, number>(
          `SELECT coalesce(1 + (SELECT seq FROM journal WHERE at_ms < @since AND seq < coalesce(
             (SELECT seq FROM journal WHERE at_ms BETWEEN @since AND @now ORDER BY seq LIMIT 1), 9223372036854775807)
             ORDER BY seq DESC LIMIT 1), 0)`,
        )
        .pluck(),
      prune: prepare("DELETE FROM journal WHERE seq IN (SELECT seq FROM journal WHERE seq < ? ORDER BY seq LIMIT ?)"),
      pruneImported: prepare(
        "DELETE FROM imported_journal WHERE row IN (SELECT row FROM imported_journal WHERE at_ms < ? ORDER BY at_ms LIMIT ?)",
      ),
      // An import adds no row from before `history_from_ms`.
      historyFrom: prepare(
        `INSERT INTO meta (key, value) VALUES ('history_from_ms', CAST(CAST(@ms AS INTEGER) AS TEXT))
           ON CONFLICT (key) DO UPDATE SET value = CAST(max(CAST(value AS INTEGER), CAST(@ms AS INTEGER)) AS TEXT)`,
      ),
      pruneImages: prepare(
        `DELETE FROM change WHERE journal < ? AND journal <= coalesce(
           (SELECT journal FROM change ORDER BY journal LIMIT 1 OFFSET ?), 9223372036854775807)`,
      ),
      imagesSize: database.prepare<[], { journal: number; bytes: number }>(
        "SELECT journal, sum(coalesce(octet_length(before), 0) + octet_length(id) + 64) AS bytes FROM change GROUP BY journal ORDER BY journal DESC",
      ),
      prunedAt: database
        .prepare<[], number>("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'pruned_at_ms'")
        .pluck(),
      setPrunedAt: prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('pruned_at_ms', ?)"),
      getMoment: database.prepare<[], string>("SELECT value FROM meta WHERE key = 'pruned_moment'").pluck(),
      setMoment: prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('pruned_moment', ?)"),
      undoFrom: prepare(
        `INSERT INTO meta (key, value) VALUES ('undo_from_seq', CAST(@seq AS TEXT))
           ON CONFLICT (key) DO UPDATE SET value = CAST(max(CAST(value AS INTEGER), @seq) AS TEXT)`,
      ),
    };
  }

  /** Returns the stored answer to a repeated call; undefined for a new key, and "other" if another call has used the key. */
  find(key: string, fingerprint: string): { value: unknown } | "other" | undefined {
    const known = this.#statements.find.get(key);
    if (known === undefined) return undefined;
    if (known.fingerprint !== fingerprint && known.fingerprint !== FORGOTTEN) return "other";
    return { value: readAnyColumn("journal.result", known.result) };
  }

  add(call: WriteCall, fingerprint: string, value: unknown, images: readonly Image[]): void {
    const { agent, door, uid, pid } = call.peer;
    const { atMs, arrivedAtMs = atMs } = call;
    const { lastInsertRowid: seq } = this.#statements.add.run(
      ...[call.key, fingerprint, arrivedAtMs, call.method, agent, door, uid, pid, call.requestId],
      JSON.stringify(call.params, shorten),
      JSON.stringify(value),
    );
    if (arrivedAtMs !== atMs) this.#statements.addClaim.run(seq, atMs);
    faultPoint("commit.after-journal");
    for (const { kind, id, before, after } of images) this.#statements.addImage.run(seq, kind, id, before, after);
  }

  /** Deletes old rows in one bounded step. Returns true if there may be more. `now`: ms. */
  prune(retention: Retention, now: number): boolean {
    const { firstSince, prune, pruneImages, pruneImported, historyFrom, undoFrom } = this.#statements;
    const undoSeq = Math.max(
      firstSince.get({ since: now - retention.undoMs, now }) ?? 0,
      this.#firstThatFits(retention.imagesBytes),
    );
    const images = pruneImages.run(undoSeq, PRUNED_PER_STEP).changes;
    undoFrom.run({ seq: undoSeq });
    const sinceMs = Math.trunc(now - retention.journalRetentionMs);
    const rows = prune.run(firstSince.get({ since: sinceMs, now }) ?? 0, PRUNED_PER_STEP).changes;
    const imported = pruneImported.run(sinceMs, PRUNED_PER_STEP).changes;
    historyFrom.run({ ms: sinceMs });
    return images > 0 || [rows, imported].includes(PRUNED_PER_STEP);
  }

  /** Time of the last pruning, ms; Infinity if there was none. */
  get prunedAtMs(): number {
    return this.#statements.prunedAt.get() ?? Number.POSITIVE_INFINITY;
  }

  set prunedAtMs(ms: number) {
    this.#statements.setPrunedAt.run(String(Math.trunc(ms)));
  }

  /** Moment of the last pruning; undefined if there was none. */
  get prunedAt(): Moment | undefined {
    const noted = parseJson(this.#statements.getMoment.get() ?? "");
    return isMoment(noted) ? noted : undefined;
  }

  set prunedAt(moment: Moment) {
    this.#statements.setMoment.run(JSON.stringify(moment));
  }

  /** Returns the first journal row whose images, with all newer images, fit into `bytesMax`; 0 if all fit. */
  #firstThatFits(bytesMax: number): number {
    let bytes = 0;
    for (const row of this.#statements.imagesSize.iterate()) {
      bytes += row.bytes ?? 0;
      if (bytes > bytesMax) return row.journal + 1;
    }
    return 0;
  }
}

export function fingerprintOf(call: WriteCall): string {
  return hash("sha256", `${call.method}\n${JSON.stringify(call.params)}`).slice(0, 32);
}

function shorten(_key: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= TEXT_MAX) return value;
  return `[${value.length} characters, sha256 ${hash("sha256", value)}]`;
}
