/** Reads and changes the tables of drawers and sources inside a write. The folder's other files do the same for the other tables. */
import { bytesOf } from "../../../base/quantize.ts";
import { invariant } from "../../../base/invariant.ts";
import { type Drawer, type IdRecipe, type Metadata, type NewDrawer } from "../../port/drawer.ts";
import { type Changes, type Derived, type LedgerTx } from "../../port/ledger.ts";
import { MODE_SEPARATOR, type SourceGroup, type SourceRow } from "../../port/source.ts";
import type { LedgerDatabase } from "../open.ts";
import { dateWords, DIRECTORY_ID, type DrawerRecord, IS_REGISTRY, place, recipeOf, toDrawer } from "../record.ts";
import { SLICES_OF, slicesBound } from "../schema/slice-index.ts";
import { AdoptedDigests } from "./adopted-digests.ts";
import { SqliteCarriedTx } from "./roampal-graph.ts";
import { SqliteImportedTx } from "./imported-journal.ts";
import { SqliteClosetTx } from "./closets.ts";
import { SqliteConversationTx } from "./conversations.ts";
import { SqliteGraphTx } from "./graph.ts";
import { Images, type StateOf } from "./before-images.ts";
import { SqlitePartTx } from "./document-parts.ts";
import { SqliteStandingTx } from "./standings.ts";

/** Maximum number of a source's places (wing and room) that are listed before it is deleted, as in upstream. */
const PLACES_SHOWN = 5;

export class LedgerTables implements Omit<LedgerTx, "forget" | "undo"> {
  readonly graph: SqliteGraphTx;
  readonly closets: SqliteClosetTx;
  readonly adopted: AdoptedDigests;
  readonly images: Images;
  readonly parts: SqlitePartTx;
  readonly standings: SqliteStandingTx;
  readonly conversations: SqliteConversationTx;
  readonly carried: SqliteCarriedTx;
  readonly imported: SqliteImportedTx;
  readonly derived: Derived;
  readonly #statements: ReturnType<typeof statementsOf>;
  /** Changes by the group's completed writes. The changes of the present write are in `#current`. */
  #kept = noChanges();
  #current = noChanges();
  #isHalfDone = false;

  constructor(database: LedgerDatabase, derived: Derived = {}) {
    this.derived = derived;
    this.#statements = statementsOf(database);
    const source = database
      .prepare<[string], string>("SELECT json_array(wing, mtime, sha256, drawers) FROM source WHERE source_file = ?")
      .pluck();
    this.images = new Images((kind, id) => {
      if (kind === "source") return source.get(id);
      if (kind === "imported") return this.imported.bodyOf(id);
      if (kind === "carried") return this.carried.find(id);
      return kind === "standing" ? this.standings.bodyOf(id) : this.graph.bodyOf(kind, id);
    });
    this.graph = new SqliteGraphTx(database, (kind, id) => this.#note(kind, id));
    this.closets = new SqliteClosetTx(database, (closets) => {
      this.#isHalfDone = true;
      this.#current.closets += closets;
    });
    this.parts = new SqlitePartTx(database, () => this.touch());
    this.standings = new SqliteStandingTx(database, (id) => this.#note("standing", id));
    this.carried = new SqliteCarriedTx(database, (id) => this.#note("carried", id));
    this.imported = new SqliteImportedTx(database, (id) => this.#note("imported", id));
    this.conversations = new SqliteConversationTx(database, () => this.touch());
    this.adopted = new AdoptedDigests(database);
  }

  changedBy(agent: string, ids: readonly string[]): Set<string> {
    return new Set(this.#statements.changedBy.all(agent, JSON.stringify(ids)));
  }

  changedByMethod(method: string, ids: readonly string[]): Set<string> {
    return new Set(this.#statements.changedByMethod.all(method, JSON.stringify(ids)));
  }

  lastChangedByMethod(method: string, ids: readonly string[], among?: readonly string[]): Set<string> {
    const asked = { method, ids: JSON.stringify(ids), among: among === undefined ? null : JSON.stringify(among) };
    return new Set(this.#statements.lastChangedByMethod.all(asked));
  }

  findSource(sourceFile: string): SourceRow | undefined {
    return this.#statements.findSource.get(sourceFile);
  }

  drawersIn(wing: string, room: string): number {
    return this.#statements.drawersIn.get(wing, room) ?? 0;
  }

  idRecipe(): IdRecipe {
    return recipeOf(this.#statements.recipe.get());
  }

  findDrawer(id: string): Drawer | undefined {
    const record = this.#statements.find.get(id);
    return record === undefined ? undefined : toDrawer(record);
  }

  insertDrawers(drawers: readonly NewDrawer[]): void {
    this.#isHalfDone = true;
    const inserted = drawers.map(({ id, text, metadata }) => {
      const words = dateWords(metadata);
      const row = { id, ...place(metadata), text, words, metadata: JSON.stringify(metadata) };
      const { lastInsertRowid } = this.#statements.insert.run(row);
      this.images.noteDrawer(id, undefined, { text, metadata });
      return { row: lastInsertRowid, text, words };
    });
    // Indexes the words after all rows are inserted, because this is faster (schema.ts).
    for (const { row, text, words } of inserted) {
      this.#statements.insertWords.run(row, text, words);
      this.putStatic(row, text, false);
      this.putForms(row, text, false);
    }
    this.#current.added += inserted.length;
  }

  updateDrawer(id: string, change: { text?: string; metadata: Metadata }): void {
    const before = this.findDrawer(id);
    invariant(before, `update of an absent drawer ${id}`);
    this.#isHalfDone = true;
    const { metadata, text = before.text } = change;
    const { wing, room, sourceFile } = place(metadata);
    this.images.noteDrawer(id, before, { text, metadata });
    const words = dateWords(metadata);
    this.#statements.update.run({ id, wing, room, sourceFile, text, words, metadata: JSON.stringify(metadata) });
    if (text !== before.text) this.putForms(before.row, text, true);
    if (text !== before.text || wing !== before.wing || room !== before.room) this.putStatic(before.row, text, true);
    this.adopted.drop(id);
    if (text !== before.text) this.closets.dropSummary(id);
    this.#current.written.push(before.row);
  }

  /** Writes a drawer's static vector. `isKnown`: true for an existing drawer, which readers must then read again. */
  putStatic(row: number | bigint, text: string, isKnown: boolean): void {
    const made = this.derived.staticCode?.(text);
    if (made === undefined) return;
    this.#statements.putStatic.run(row, bytesOf(made), made.scale);
    if (isKnown) this.#statements.renewStatic.run(row);
  }

  /**
   * Replaces a drawer's row in `form_fts` (other spellings of its words). `isKnown`: true for an existing drawer. Returns true if the text
   * has other spellings.
   */
  putForms(row: number | bigint, text: string, isKnown: boolean): boolean {
    if (this.derived.formsOf === undefined) return false;
    if (isKnown) this.#statements.dropForms.run(row);
    const forms = this.derived.formsOf(text);
    if (forms !== "") this.#statements.putForms.run(row, forms);
    return forms !== "";
  }

  deleteDrawer(id: string): void {
    this.deleteDrawers([id]);
  }

  /** Uses one statement, because SQLite flushes the full-text index before each statement. */
  deleteDrawers(ids: readonly string[]): void {
    const found = [...new Set(ids)].flatMap((id) => this.#statements.find.get(id) ?? []);
    if (found.length === 0) return;
    this.#isHalfDone = true;
    for (const before of found) this.images.noteDrawer(before.id, toDrawer(before), undefined);
    this.#statements.delete.run(JSON.stringify(found.map(({ row }) => row)));
    for (const { id, row } of found) {
      this.adopted.drop(id);
      this.closets.dropSummary(id);
      this.standings.remove(id);
      this.#current.removed.push(row);
    }
  }

  slicesOf(id: string): Drawer[] {
    return this.#statements.slices.all(...slicesBound(id)).map(toDrawer);
  }

  placesOfSource(sourceFile: string): { drawers: number; places: { wing: string; room: string }[] } {
    const places = this.#statements.placesOfSource.all(sourceFile, PLACES_SHOWN);
    return { drawers: this.#statements.rowsOfSource.all(sourceFile).length, places };
  }

  deleteSource(sourceFile: string): number {
    this.#isHalfDone = true;
    this.adopted.dropSource(sourceFile);
    const before = this.drawersOfSource(sourceFile);
    for (const drawer of before) {
      this.images.noteDrawer(drawer.id, drawer, undefined);
      this.standings.remove(drawer.id);
    }
    this.images.note("source", sourceFile);
    this.#statements.deleteSource.run(sourceFile);
    this.#statements.deleteFilingRecord.run(sourceFile, `${sourceFile}${MODE_SEPARATOR}general`);
    for (const { row } of before) this.#current.removed.push(row);
    return before.length;
  }

  deleteSourceGroup({ sourceFile, directoryId, lastRow }: SourceGroup, wing: string | undefined): number {
    const ids = this.#statements.idsOfGroup.all(sourceFile, directoryId, lastRow, wing ?? null, wing ?? null);
    for (const id of ids) this.deleteDrawer(id);
    this.images.note("source", sourceFile);
    this.#statements.deleteFilingRecord.run(sourceFile, `${sourceFile}${MODE_SEPARATOR}general`);
    return ids.length;
  }

  putSource({ sourceFile, wing, mtime, sha256, drawers }: SourceRow): void {
    this.#isHalfDone = true;
    this.images.note("source", sourceFile);
    this.#statements.putSource.run(sourceFile, wing, mtime, sha256, drawers);
  }

  drawersOfSource(sourceFile: string): Drawer[] {
    return this.#statements.drawersOfSource.all(sourceFile).map(toDrawer);
  }

  #note(kind: Parameters<StateOf>[0], id: string): void {
    this.images.note(kind, id);
    this.touch();
  }

  answerTo(key: string, fingerprint: string): { value: unknown } | undefined {
    const isHere = (id: string): boolean => this.findDrawer(id) !== undefined || this.slicesOf(id).length > 0;
    return this.imported.answerTo(key, fingerprint, isHere);
  }

  /** Counts a change to a table other than the drawers and the closets. */
  touch(): void {
    this.#isHalfDone = true;
    this.#current.graph += 1;
  }

  /** Returns the number of rows that the current write has changed. */
  changeCount(): number {
    const { added, written, removed, graph, closets } = this.#current;
    return added + written.length + removed.length + graph + closets;
  }

  /** True if the current write has changed the ledger. If the write then fails, the group must be rolled back. */
  get isHalfDone(): boolean {
    return this.#isHalfDone;
  }

  keepChanges(): void {
    this.#kept.added += this.#current.added;
    this.#kept.written.push(...this.#current.written);
    this.#kept.removed.push(...this.#current.removed);
    this.#kept.graph += this.#current.graph;
    this.#kept.closets += this.#current.closets;
    this.#forgetCurrent();
  }

  /** Returns the group's changes and starts the next group. */
  takeChanges(): Changes {
    const changes = this.#kept;
    this.#kept = noChanges();
    this.#forgetCurrent();
    return changes;
  }

  #forgetCurrent(): void {
    this.#current = noChanges();
    this.images.clear();
    this.#isHalfDone = false;
  }
}

export function noChanges(): Changes {
  return { added: 0, written: [], removed: [], graph: 0, closets: 0 };
}

function statementsOf(database: LedgerDatabase) {
  return {
    ...changeStatements(database),
    find: database.prepare<[string], DrawerRecord>("SELECT * FROM drawer WHERE id = ?"),
    insert: database.prepare(
      `INSERT INTO drawer (id, wing, room, source_file, text, date_words, metadata)
         VALUES (@id, @wing, @room, @sourceFile, @text, @words, @metadata)`,
    ),
    insertWords: database.prepare("INSERT INTO drawer_fts (rowid, text, date_words) VALUES (?, ?, ?)"),
    update: database.prepare(
      `UPDATE drawer SET wing = @wing, room = @room, source_file = @sourceFile, text = @text, date_words = @words,
         metadata = @metadata, text_version = text_version + (text <> @text) WHERE id = @id`,
    ),
    delete: database.prepare("DELETE FROM drawer WHERE row IN (SELECT value FROM json_each(?))"),
    slices: database.prepare<string[], DrawerRecord>(SLICES_OF),
    rowsOfSource: database
      .prepare<[string], number>("SELECT row FROM drawer WHERE source_file = ? AND source_file <> ''")
      .pluck(),
    placesOfSource: database.prepare<[string, number], { wing: string; room: string }>(
      `SELECT wing, room FROM drawer WHERE source_file = ? AND source_file <> ''
         GROUP BY wing, room ORDER BY min(row) LIMIT ?`,
    ),
    idsOfGroup: database
      .prepare<[string, string | null, number, string | null, string | null], string>(
        `SELECT id FROM drawer WHERE source_file = ? AND source_file <> '' AND ${DIRECTORY_ID} IS ? AND row <= ?
           AND NOT ${IS_REGISTRY} AND (? IS NULL OR wing = ?)`,
      )
      .pluck(),
    deleteSource: database.prepare("DELETE FROM drawer WHERE source_file = ? AND source_file <> ''"),
    deleteFilingRecord: database.prepare("UPDATE source SET drawers = 0, sha256 = '' WHERE source_file IN (?, ?)"),
    putSource: database.prepare(
      `INSERT INTO source (source_file, wing, mtime, sha256, drawers) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (source_file) DO UPDATE SET wing = excluded.wing, mtime = excluded.mtime, sha256 = excluded.sha256,
           drawers = excluded.drawers`,
    ),
    drawersOfSource: database.prepare<[string], DrawerRecord>(
      "SELECT * FROM drawer WHERE source_file = ? AND source_file <> '' ORDER BY row",
    ),
    recipe: database.prepare<[], string>("SELECT value FROM meta WHERE key = 'id_recipe'").pluck(),
    putStatic: database.prepare("INSERT OR REPLACE INTO static_code (row, code, scale) VALUES (?, ?, ?)"),
    renewStatic: database.prepare("INSERT OR REPLACE INTO static_renewed (row) VALUES (?)"),
    putForms: database.prepare("INSERT INTO form_fts (rowid, text) VALUES (?, ?)"),
    dropForms: database.prepare("DELETE FROM form_fts WHERE rowid = ?"),
    findSource: database.prepare<[string], SourceRow>(
      "SELECT source_file AS sourceFile, wing, mtime, sha256, drawers FROM source WHERE source_file = ?",
    ),
    drawersIn: database
      .prepare<[string, string], number>("SELECT drawers FROM place WHERE wing = ? AND room = ?")
      .pluck(),
  };
}

/** Returns the statements that find the writes which changed a drawer. */
function changeStatements(database: LedgerDatabase) {
  const changedWhere = (column: "agent" | "method") =>
    database
      .prepare<[string, string], string>(
        `SELECT DISTINCT c.id FROM journal j JOIN change c ON c.journal = j.seq AND c.kind = 'drawer'
           WHERE j.${column} = ? AND c.id IN (SELECT value FROM json_each(?))`,
      )
      .pluck();
  return {
    changedBy: changedWhere("agent"),
    changedByMethod: changedWhere("method"),
    lastChangedByMethod: database
      .prepare<{ method: string; ids: string; among: string | null }, string>(
        `SELECT last.id FROM (SELECT c.id, max(c.journal) AS seq FROM change c JOIN journal j ON j.seq = c.journal
             WHERE c.kind = 'drawer' AND c.id IN (SELECT value FROM json_each(@ids))
               AND (@among IS NULL OR j.method IN (SELECT value FROM json_each(@among))) GROUP BY c.id) last
           JOIN journal j ON j.seq = last.seq WHERE j.method = @method`,
      )
      .pluck(),
  };
}
