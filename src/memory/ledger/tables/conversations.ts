/** Implements ConversationTx over SQLite. */
import type { Conversation, ConversationTx } from "../../port/outcome.ts";
import { type ConversationRecord, toConversation } from "../conversation-row.ts";
import type { LedgerDatabase } from "../open.ts";
import { ANEW } from "../schema/outcome-schema.ts";

export class SqliteConversationTx implements ConversationTx {
  readonly #onChange: () => void;
  readonly #find;
  readonly #put;
  readonly #show;
  readonly #shownAt;
  readonly #asked;
  readonly #dropBefore;

  constructor(database: LedgerDatabase, onChange: () => void) {
    this.#onChange = onChange;
    this.#find = database.prepare<[string], ConversationRecord>("SELECT * FROM conversation WHERE id = ?");
    this.#put = database.prepare(
      `INSERT INTO conversation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         (agent, turn, is_completed, is_asked, is_scored, exchange, scored, at_ms) = (excluded.agent, excluded.turn,
         excluded.is_completed, excluded.is_asked, excluded.is_scored, excluded.exchange, excluded.scored, excluded.at_ms)`,
    );
    this.#show = database.prepare("INSERT OR REPLACE INTO shown VALUES (?, ?, ?)");
    this.#shownAt = database
      .prepare<[string, number], string>(
        `SELECT id FROM shown WHERE conversation = ? AND turn = ? AND id <> '${ANEW}' ORDER BY id`,
      )
      .pluck();
    this.#asked = database.prepare<[number], ConversationRecord>(
      "SELECT * FROM conversation WHERE at_ms >= ? AND is_asked ORDER BY at_ms DESC, id",
    );
    this.#dropBefore = database.prepare("DELETE FROM conversation WHERE at_ms < ?");
  }

  find(id: string): Conversation | undefined {
    const record = this.#find.get(id);
    return record === undefined ? undefined : toConversation(record);
  }

  put({ id, agent, turn, isCompleted, isAsked, isScored, exchange, scored, atMs }: Conversation): void {
    this.#onChange();
    const marks = [isCompleted, isAsked, isScored].map(Number);
    this.#put.run(id, agent, turn, ...marks, exchange, JSON.stringify(scored), atMs);
  }

  show(id: string, turn: number, drawers: readonly string[]): void {
    this.#onChange();
    for (const drawer of drawers) this.#show.run(id, drawer, turn);
  }

  showAnew(id: string, turn: number): void {
    this.show(id, turn, [ANEW]);
  }

  shownAt(id: string, turn: number): string[] {
    return this.#shownAt.all(id, turn);
  }

  asked(sinceMs: number): Conversation[] {
    return this.#asked.all(sinceMs).map(toConversation);
  }

  dropBefore(atMs: number): void {
    this.#onChange();
    this.#dropBefore.run(atMs);
  }
}
