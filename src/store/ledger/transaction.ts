/**
 * LedgerTx over SQLite: what engine may do inside one write. Lives on the writer thread; collects which rows changed.
 */
import { invariant } from "../../platform/invariant.ts";
import {
  type Changes,
  type Drawer,
  type IdRecipe,
  type LedgerTx,
  MARK_OF_MODE,
  type Metadata,
  type NewDrawer,
  type SourceGroup,
  type SourceRow,
} from "../port.ts";
import { SqliteGraphTx } from "./graph-tx.ts";
import type { LedgerDatabase } from "./open.ts";
import { dateWords, DIRECTORY_ID, type DrawerRecord, IS_REGISTRY, isSliceOf, sliceBounds, toDrawer } from "./record.ts";

/** Upstream shows so many places of a source before it is deleted. */
const PLACES_SHOWN = 5;

export class SqliteLedgerTx implements LedgerTx {
  readonly graph: SqliteGraphTx;
  readonly #find;
  readonly #insert;
  readonly #insertWords;
  readonly #update;
  readonly #delete;
  readonly #slices;
  readonly #rowsOfSource;
  readonly #placesOfSource;
  readonly #idsOfGroup;
  readonly #deleteSource;
  readonly #deleteSourceMark;
  readonly #putSource;
  readonly #drawersOfSource;
  readonly #recipe;
  /** Of the writes of this group that were kept, and of the one being applied. */
  #kept = noChanges();
  #current = noChanges();
  #isHalfDone = false;

  constructor(database: LedgerDatabase) {
    this.graph = new SqliteGraphTx(database, () => {
      this.#isHalfDone = true;
      this.#current.graph += 1;
    });
    this.#find = database.prepare<[string], DrawerRecord>("SELECT * FROM drawer WHERE id = ?");
    this.#insert = database.prepare(
      "INSERT INTO drawer (id, wing, room, source_file, text, date_words, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#insertWords = database.prepare("INSERT INTO drawer_fts (rowid, text, date_words) VALUES (?, ?, ?)");
    this.#update = database.prepare(
      `UPDATE drawer SET wing = ?, room = ?, source_file = ?, text = ?, date_words = ?, metadata = ?,
         text_version = text_version + (text <> ?) WHERE id = ?`,
    );
    this.#delete = database.prepare("DELETE FROM drawer WHERE id = ?");
    this.#slices = database.prepare<[string, string], DrawerRecord>(
      "SELECT * FROM drawer WHERE id BETWEEN ? AND ? ORDER BY id",
    );
    this.#placesOfSource = database.prepare<[string, number], { wing: string; room: string }>(
      `SELECT wing, room FROM drawer WHERE source_file = ? AND source_file <> ''
         GROUP BY wing, room ORDER BY min(row) LIMIT ?`,
    );
    this.#idsOfGroup = database
      .prepare<[string, string | null, number, string | null, string | null], string>(
        `SELECT id FROM drawer WHERE source_file = ? AND source_file <> '' AND ${DIRECTORY_ID} IS ? AND row <= ?
           AND NOT ${IS_REGISTRY} AND (? IS NULL OR wing = ?)`,
      )
      .pluck();
    this.#rowsOfSource = database
      .prepare<[string], number>("SELECT row FROM drawer WHERE source_file = ? AND source_file <> ''")
      .pluck();
    this.#deleteSource = database.prepare("DELETE FROM drawer WHERE source_file = ? AND source_file <> ''");
    this.#deleteSourceMark = database.prepare("UPDATE source SET drawers = 0, sha256 = '' WHERE source_file IN (?, ?)");
    this.#drawersOfSource = database.prepare<[string], DrawerRecord>(
      "SELECT * FROM drawer WHERE source_file = ? AND source_file <> '' ORDER BY row",
    );
    this.#putSource = database.prepare(
      `INSERT INTO source (source_file, wing, mtime, sha256, drawers) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (source_file) DO UPDATE SET wing = excluded.wing, mtime = excluded.mtime, sha256 = excluded.sha256,
           drawers = excluded.drawers`,
    );
    this.#recipe = database.prepare<[], string>("SELECT value FROM meta WHERE key = 'id_recipe'").pluck();
  }

  idRecipe(): IdRecipe {
    return this.#recipe.get() === "bare" ? "bare" : "v3";
  }

  findDrawer(id: string): Drawer | undefined {
    const record = this.#find.get(id);
    return record === undefined ? undefined : toDrawer(record);
  }

  insertDrawers(drawers: readonly NewDrawer[]): void {
    this.#isHalfDone = true;
    const inserted = drawers.map(({ id, text, metadata }) => {
      const { wing, room, sourceFile } = place(metadata);
      const words = dateWords(metadata);
      const { lastInsertRowid } = this.#insert.run(id, wing, room, sourceFile, text, words, JSON.stringify(metadata));
      return { row: lastInsertRowid, text, words };
    });
    // After all of them: see schema.ts.
    for (const { row, text, words } of inserted) this.#insertWords.run(row, text, words);
    this.#current.added += inserted.length;
  }

  updateDrawer(id: string, change: { text?: string; metadata: Metadata }): void {
    const before = this.findDrawer(id);
    invariant(before, `update of an absent drawer ${id}`);
    this.#isHalfDone = true;
    const { wing, room, sourceFile } = place(change.metadata);
    const text = change.text ?? before.text;
    this.#update.run(
      wing,
      room,
      sourceFile,
      text,
      dateWords(change.metadata),
      JSON.stringify(change.metadata),
      text,
      id,
    );
    this.#current.written.push(before.row);
  }

  deleteDrawer(id: string): boolean {
    const before = this.#find.get(id);
    if (before === undefined) return false;
    this.#isHalfDone = true;
    this.#delete.run(id);
    this.#current.removed.push(before.row);
    return true;
  }

  slicesOf(id: string): Drawer[] {
    return this.#slices
      .all(...sliceBounds(id))
      .map(toDrawer)
      .filter((drawer) => isSliceOf(id, drawer));
  }

  placesOfSource(sourceFile: string): { drawers: number; places: { wing: string; room: string }[] } {
    const places = this.#placesOfSource.all(sourceFile, PLACES_SHOWN);
    return { drawers: this.#rowsOfSource.all(sourceFile).length, places };
  }

  deleteSource(sourceFile: string): number {
    this.#isHalfDone = true;
    const rows = this.#rowsOfSource.all(sourceFile);
    this.#deleteSource.run(sourceFile);
    this.#deleteSourceMark.run(sourceFile, `${sourceFile}${MARK_OF_MODE}general`);
    this.#current.removed.push(...rows);
    return rows.length;
  }

  deleteSourceGroup({ sourceFile, directoryId, lastRow }: SourceGroup, wing: string | undefined): number {
    const ids = this.#idsOfGroup.all(sourceFile, directoryId, lastRow, wing ?? null, wing ?? null);
    for (const id of ids) this.deleteDrawer(id);
    this.#deleteSourceMark.run(sourceFile, `${sourceFile}${MARK_OF_MODE}general`);
    return ids.length;
  }

  putSource({ sourceFile, wing, mtime, sha256, drawers }: SourceRow): void {
    this.#isHalfDone = true;
    this.#putSource.run(sourceFile, wing, mtime, sha256, drawers);
  }

  drawersOfSource(sourceFile: string): Drawer[] {
    return this.#drawersOfSource.all(sourceFile).map(toDrawer);
  }

  /** Rows changed by the write being applied. */
  changeCount(): number {
    const { added, written, removed, graph } = this.#current;
    return added + written.length + removed.length + graph;
  }

  /** A write that did not come to its end has touched the ledger: only a rollback of the group takes that back. */
  get isHalfDone(): boolean {
    return this.#isHalfDone;
  }

  keepChanges(): void {
    this.#kept.added += this.#current.added;
    this.#kept.written.push(...this.#current.written);
    this.#kept.removed.push(...this.#current.removed);
    this.#kept.graph += this.#current.graph;
    this.#forgetCurrent();
  }

  /** What the group has changed; the next group begins with nothing. */
  takeChanges(): Changes {
    const changes = this.#kept;
    this.#kept = noChanges();
    this.#forgetCurrent();
    return changes;
  }

  #forgetCurrent(): void {
    this.#current = noChanges();
    this.#isHalfDone = false;
  }
}

export function noChanges(): Changes {
  return { added: 0, written: [], removed: [], graph: 0 };
}

function place(metadata: Metadata): { wing: string; room: string; sourceFile: string } {
  const text = (key: string, absent: string): string => {
    const value = metadata[key];
    return typeof value === "string" ? value : absent;
  };
  // Upstream counts a row without wing or room under "unknown" (Source: palace.md 2.5).
  return { wing: text("wing", "unknown"), room: text("room", "unknown"), sourceFile: text("source_file", "") };
}
