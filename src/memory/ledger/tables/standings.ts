/** Implements StandingTx over SQLite. */
import type { OutcomeSource, Scored, Standing, StandingTx, Telling } from "../../port/outcome.ts";
import { isNumbers, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { STANDING_BODY } from "../schema/outcome-schema.ts";
import { isPast, SCORED_OF, type ScoredRecord, type StandingRecord, toScored, toStanding } from "../standing-row.ts";

/** Maximum number of outcomes per drawer; older ones are deleted. Each before-image of a standing contains all of them. */
const SCORED_KEPT = 50;
/** Number of newest outcomes that keep their question, which takes four times as much space as the outcome. */
const QUESTIONS_KEPT = 15;

/** A standing and its outcomes as the JSON array that STANDING_BODY selects. */
type Body = [
  ...[score: number, uses: number, successes: number, lastUsedMs: number | null, past: Standing["past"]],
  scored?: [
    ...[atMs: number, outcome: Telling, source: OutcomeSource, weight: number],
    ...[conversation: string | null, exchange: string | null],
    question?: [context: string, collection: string, concepts: number[]],
  ][],
];

export class SqliteStandingTx implements StandingTx {
  readonly #onChange: (id: string) => void;
  readonly #statements;

  constructor(database: LedgerDatabase, onChange: (id: string) => void) {
    this.#onChange = onChange;
    this.#statements = {
      find: database.prepare<[string], StandingRecord>("SELECT * FROM standing WHERE id = ?"),
      scored: database.prepare<[string], ScoredRecord>(SCORED_OF),
      body: database.prepare<[string], string>(`SELECT ${STANDING_BODY} FROM standing WHERE id = ?`).pluck(),
      put: database.prepare("INSERT OR REPLACE INTO standing VALUES (?, ?, ?, ?, ?, ?)"),
      remove: database.prepare("DELETE FROM standing WHERE id = ?"),
      score: database.prepare(
        `INSERT INTO scored SELECT @id, coalesce(max(nth), 0) + 1, @atMs, @outcome, @source, @weight, @conversation, @exchange
           FROM scored WHERE id = @id`,
      ),
      ask: database.prepare(
        `INSERT INTO question SELECT @id, max(nth), @atMs, @outcome, @context, @collection, @concepts FROM scored WHERE id = @id`,
      ),
      forgetOld: database.prepare(
        `DELETE FROM scored WHERE id = @id AND nth <= (SELECT max(nth) FROM scored WHERE id = @id) - ${SCORED_KEPT}`,
      ),
      forgetAsked: database.prepare(
        `DELETE FROM question WHERE id = @id AND nth <= (SELECT max(nth) FROM scored WHERE id = @id) - ${QUESTIONS_KEPT}`,
      ),
      forgetAll: database.prepare("DELETE FROM scored WHERE id = ?"),
    };
  }

  find(id: string): Standing | undefined {
    const record = this.#statements.find.get(id);
    return record === undefined ? undefined : toStanding(record);
  }

  put(id: string, { score, uses, successes, lastUsedMs, past }: Standing, scored?: Scored): void {
    this.#onChange(id);
    this.#statements.put.run(id, score, uses, successes, lastUsedMs, JSON.stringify(past));
    if (scored === undefined) return;
    this.#note(id, scored);
    this.#statements.forgetOld.run({ id });
    this.#statements.forgetAsked.run({ id });
  }

  scored(id: string): Scored[] {
    return this.#statements.scored.all(id).map(toScored);
  }

  remove(id: string): void {
    if (this.#statements.find.get(id) === undefined) return;
    this.#onChange(id);
    this.#statements.remove.run(id);
    this.#statements.forgetAll.run(id);
  }

  bodyOf(id: string): string | undefined {
    return this.#statements.body.get(id);
  }

  putBody(id: string, body: string): void {
    this.restore(id, body);
  }

  /** Restores a row from its before-image; null removes the row. */
  restore(id: string, body: string | null): void {
    if (body === null) return this.remove(id);
    const [score, uses, successes, lastUsedMs, past, scored = []] = readColumn("change.before", body, isBody);
    this.put(id, { score, uses, successes, lastUsedMs, past });
    this.#statements.forgetAll.run(id);
    for (const [atMs, outcome, source, weight, conversation, exchange, asked] of scored) {
      const question = asked === undefined ? null : { context: asked[0], collection: asked[1], concepts: asked[2] };
      this.#note(id, { atMs, outcome, source, weight, conversation, exchange, question });
    }
  }

  #note(id: string, { question, ...told }: Scored): void {
    this.#statements.score.run({ id, ...told });
    if (question === null) return;
    const { atMs, outcome } = told;
    this.#statements.ask.run({ id, atMs, outcome, ...question, concepts: JSON.stringify(question.concepts) });
  }
}

function isBody(value: unknown): value is Body {
  if (!Array.isArray(value)) return false;
  const [score, uses, successes, lastUsedMs, past, scored = []] = value as unknown[];
  const areNumbers = isNumbers([score, uses, successes, lastUsedMs ?? 0]);
  return areNumbers && isPast(past) && Array.isArray(scored) && scored.every(Array.isArray);
}
