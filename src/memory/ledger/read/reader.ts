/** Implements LedgerReader over SQLite on the broker's main thread, so a query should take well under a millisecond. */
import { statSync } from "node:fs";
import type { Drawer, DrawerFilter, IdRecipe, PlaceFilter } from "../../port/drawer.ts";
import type { Conversation, Scored, Standing } from "../../port/outcome.ts";
import type { LedgerReader, PendingText } from "../../port/ledger.ts";
import type { SourceGroup, SourceRow } from "../../port/source.ts";
import { MINED_KEYS } from "../../../protocol/filing.ts";
import { type ConversationRecord, toConversation } from "../conversation-row.ts";
import { isTexts, readColumn } from "../json-column.ts";
import { openForReading, type LedgerDatabase } from "../open.ts";
import { DRAWERS } from "../outbox-kinds.ts";
import { ANEW } from "../schema/outcome-schema.ts";
import { PARENT, SLICES_OF, slicesBound } from "../schema/slice-index.ts";
import { SCORED_OF, type ScoredRecord, type StandingRecord, toScored, toStanding } from "../standing-row.ts";
import { DIRECTORY_ID, type DrawerRecord, IS_REGISTRY, recipeOf, toDrawer, toFloats } from "../record.ts";
import { SqliteClosetReader } from "./closet-reader.ts";
import { condition, IN_ROOM } from "./drawer-filter.ts";
import { drawerPage } from "./drawer-pages.ts";
import { SqliteGraphReader } from "./graph-reader.ts";
import { SqliteJournalReader } from "./journal-reader.ts";
import { answeredAlike, toldIn, toldOf } from "./question-reader.ts";
import { cacheStatements } from "./statement-cache.ts";
import { assistantRows, exchangeOf, talkSlices } from "./exchanges.ts";
import { LogicalPages } from "./logical-pages.ts";
import { minedSources } from "./mined-sources.ts";
import { sourcesLike } from "./source-names.ts";
import { deletedIdsByPart, idsByPart, newestPage, wholePlaces } from "./newest-pages.ts";
import { OutboxReader } from "./outbox-reader.ts";
import { helpedByWeek, toldSince, turnPage } from "./turn-reader.ts";
import { selectRow, selectRows, selectValue, selectValues } from "../select.ts";

/** Maximum number of diary rows that upstream reads before it sorts them (Source: palace.md 2.10). */
const DIARY_ROWS_MAX = 10_000;
/** Maximum number of rows per query, far below the 32,766 bound values that SQLite allows. */
const ROWS_PER_QUERY = 500;

const CHUNK_INDEX = "json_extract(metadata, '$.chunk_index')";
const UNMINED = MINED_KEYS.map((key) => `json_extract(metadata, '$.${key}') IS NULL`).join(" AND ");
/** Number of newest rows that are searched for notes. It limits the time that an agent waits. */
const NOTES_SCANNED_MAX = 30_000;
/** Maximum number of slices around a hit. A source that was filed twice has two slices of each number. */
const SLICES_AROUND_MAX = 50;
/** Number of newest waiting texts that are searched for notes. */
const NOTES_AMONG = 2_000;

export class SqliteLedgerReader implements LedgerReader {
  readonly #file: string;
  readonly #database: LedgerDatabase;
  readonly graph: SqliteGraphReader;
  readonly closets: SqliteClosetReader;
  readonly outbox: OutboxReader;
  readonly journal: SqliteJournalReader;

  constructor(file: string) {
    this.#file = file;
    this.#database = cacheStatements(openForReading(file));
    this.graph = new SqliteGraphReader(this.#database);
    this.closets = new SqliteClosetReader(this.#database);
    this.outbox = new OutboxReader(this.#database, DRAWERS);
    this.journal = new SqliteJournalReader(this.#database);
  }

  close(): void {
    this.#database.close();
  }

  shrinkCache(): void {
    this.#database.pragma("shrink_memory");
  }

  everHeldDrawers(): boolean {
    return selectRow(this.#database, "SELECT 1 FROM sqlite_sequence WHERE name = 'drawer'") !== undefined;
  }

  meta(key: string): string | undefined {
    return selectValue<string>(this.#database, "SELECT value FROM meta WHERE key = ?", key);
  }

  /** Returns the forgotten rows whose texts must still be erased from files. */
  erasures(): { seq: number; ids: string[] }[] {
    const sql = "SELECT seq, ids FROM erasure ORDER BY seq";
    const rows = selectRows<{ seq: number; ids: string }>(this.#database, sql);
    return rows.map(({ seq, ids }) => ({ seq, ids: readColumn("erasure.ids", ids, isTexts) }));
  }

  /** Returns how many of these drawers and closets are not sent to the public palace yet. */
  unsentAmong(ids: readonly string[]): number {
    const among = "WHERE id IN (SELECT value FROM json_each(@ids))";
    const sql = `SELECT (SELECT count(*) FROM outbox ${among}) + (SELECT count(*) FROM closet_outbox ${among})`;
    return selectValue<number>(this.#database, sql, { ids: JSON.stringify(ids) }) ?? 0;
  }

  /** Returns those drawers and closets among `ids` whose text has no vector yet. Until then the public palace cannot get the text. */
  awaitingVector(ids: readonly string[]): { id: string; text: string }[] {
    const among = "id IN (SELECT value FROM json_each(@ids))";
    return selectRows<{ id: string; text: string }>(
      this.#database,
      `SELECT id, text FROM drawer WHERE ${among} AND row IN (SELECT row FROM pending_embedding)
         UNION ALL SELECT id, text FROM closet WHERE ${among} AND vector IS NULL`,
      { ids: JSON.stringify(ids) },
    );
  }

  findDrawer(id: string): Drawer | undefined {
    const record = selectRow<DrawerRecord>(this.#database, "SELECT * FROM drawer WHERE id = ?", id);
    return record === undefined ? undefined : toDrawer(record);
  }

  drawersByRow(rows: readonly number[]): Drawer[] {
    const found = new Map<number, Drawer>();
    for (let start = 0; start < rows.length; start += ROWS_PER_QUERY) {
      const part = rows.slice(start, start + ROWS_PER_QUERY);
      const sql = `SELECT * FROM drawer WHERE row IN (${part.map(() => "?").join()})`;
      const records = selectRows<DrawerRecord>(this.#database, sql, ...part);
      for (const record of records) found.set(record.row, toDrawer(record));
    }
    return rows.flatMap((row) => found.get(row) ?? []);
  }

  standings(ids: readonly string[]): Map<string, Standing> {
    const sql = "SELECT * FROM standing WHERE id IN (SELECT value FROM json_each(?))";
    const records = selectRows<StandingRecord>(this.#database, sql, JSON.stringify(ids));
    return new Map(records.map((record) => [record.id, toStanding(record)]));
  }

  scored(id: string): Scored[] {
    return selectRows<ScoredRecord>(this.#database, SCORED_OF, id).map(toScored);
  }

  growth(): { day: string; drawers: number }[] {
    const sql = "SELECT day, drawers FROM growth ORDER BY day";
    return selectRows<{ day: string; drawers: number }>(this.#database, sql);
  }

  carriedAfter(id: string, limit: number, bytes: number): { id: string; value: string }[] {
    const rows: { id: string; value: string }[] = [];
    let left = bytes;
    const following = this.#database.prepare<[string, number], { id: string; value: string }>(
      "SELECT id, value FROM carried_graph WHERE id > ? ORDER BY id LIMIT ?",
    );
    for (const row of following.iterate(id, limit)) {
      left -= row.id.length + row.value.length;
      if (rows.length > 0 && left < 0) break;
      rows.push(row);
    }
    return rows;
  }

  isCarried(id: string): boolean {
    return selectRow(this.#database, "SELECT 1 FROM carried_graph WHERE id = ?", id) !== undefined;
  }

  conversations(): string[] {
    return selectValues<string>(this.#database, "SELECT id FROM conversation");
  }

  conversation(id: string): Conversation | undefined {
    const sql = "SELECT * FROM conversation WHERE id = ?";
    const record = selectRow<ConversationRecord>(this.#database, sql, id);
    return record === undefined ? undefined : toConversation(record);
  }

  showings(id: string, limit: number): { conversation: string; turn: number; at: string }[] {
    const sql = `SELECT c.id AS conversation, s.turn AS turn, strftime('%Y-%m-%dT%H:%M:%SZ', c.at_ms / 1000, 'unixepoch') AS "at"
      FROM shown s JOIN conversation c ON c.id = s.conversation WHERE s.id = ? ORDER BY c.at_ms DESC, c.id LIMIT ?`;
    return selectRows<{ conversation: string; turn: number; at: string }>(this.#database, sql, id, limit);
  }

  shownAt(conversation: string, turn: number): string[] {
    const sql = "SELECT id FROM shown WHERE conversation = ? AND turn = ? ORDER BY id";
    return selectValues<string>(this.#database, sql, conversation, turn);
  }

  answered: LedgerReader["answered"] = (concepts, collections) => answeredAlike(this.#database, concepts, collections);
  toldOf: LedgerReader["toldOf"] = (ids) => toldOf(this.#database, ids);
  toldIn: LedgerReader["toldIn"] = (context, collection) => toldIn(this.#database, context, collection);
  exchangeOf: LedgerReader["exchangeOf"] = (drawer) => exchangeOf(this.#database, drawer);
  talkSlices: LedgerReader["talkSlices"] = (rows) => talkSlices(this.#database, rows);
  assistantRows: LedgerReader["assistantRows"] = (rows) => assistantRows(this.#database, rows);
  listLogical: LedgerReader["listLogical"] = (filter, limit, offset) =>
    new LogicalPages(this.#database, filter).page(limit, offset);
  wholePlaces: LedgerReader["wholePlaces"] = () => wholePlaces(this.#database);
  idsByPart: LedgerReader["idsByPart"] = (part, limit) => idsByPart(this.#database, part, limit);

  deletedIdsByPart: LedgerReader["deletedIdsByPart"] = (part, limit) => deletedIdsByPart(this.#database, part, limit);
  sourcesLike: LedgerReader["sourcesLike"] = (path, place, limit) => sourcesLike(this.#database, path, place, limit);
  minedSources: LedgerReader["minedSources"] = (query) => minedSources(this.#database, query);
  turns: LedgerReader["turns"] = (filter, limit, offset) => turnPage(this.#database, filter, limit, offset);
  toldSince: LedgerReader["toldSince"] = (atMs) => toldSince(this.#database, atMs);
  helpedByWeek: LedgerReader["helpedByWeek"] = (prefix) => helpedByWeek(this.#database, prefix);

  shownIn(conversation: string): Set<string> {
    const sql = `SELECT id FROM shown WHERE conversation = $conversation AND turn >= ifnull(
      (SELECT turn FROM shown WHERE conversation = $conversation AND id = '${ANEW}'), 0)`;
    return new Set(selectValues<string>(this.#database, sql, { conversation }));
  }

  slicesOf(id: string): Drawer[] {
    return selectRows<DrawerRecord>(this.#database, SLICES_OF, ...slicesBound(id)).map(toDrawer);
  }

  slicesOfSource(range: { sourceFile: string; wing: string; first: number; last: number }): Drawer[] {
    return selectRows<DrawerRecord>(
      this.#database,
      `SELECT * FROM drawer WHERE source_file = $sourceFile AND source_file <> '' AND wing = $wing
           AND ${CHUNK_INDEX} BETWEEN $first AND $last ORDER BY ${CHUNK_INDEX}, row LIMIT $most`,
      { ...range, most: SLICES_AROUND_MAX },
    ).map(toDrawer);
  }

  listDrawers(filter: DrawerFilter, limit: number, offset: number): { drawers: Drawer[]; total: number } {
    const { rows, total } = drawerPage(this.#database, filter, condition(filter), limit, offset);
    return { drawers: this.drawersByRow(rows), total };
  }

  listNewest(place: PlaceFilter, limit: number, offset: number): { drawers: Drawer[]; total: number } {
    const { rows, total } = newestPage(this.#database, place, limit, offset);
    return { drawers: this.drawersByRow(rows), total };
  }

  holdsOldSlices(): boolean {
    const sql = `SELECT 1 FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} IS NOT NULL AND room = 'diary'
      AND json_type(metadata, '$.parent_drawer_id') IS NULL LIMIT 1`;
    return selectRow(this.#database, sql) !== undefined;
  }

  idRecipe(): IdRecipe {
    return recipeOf(this.meta("id_recipe"));
  }

  places(): { wing: string; room: string; drawers: number }[] {
    return selectRows<{ wing: string; room: string; drawers: number }>(
      this.#database,
      "SELECT wing, room, drawers FROM place ORDER BY wing, room",
    );
  }

  holds(place: PlaceFilter): boolean {
    const { where, values } = condition(place);
    return selectRow(this.#database, `SELECT 1 FROM place ${where} LIMIT 1`, ...values) !== undefined;
  }

  diaryEntries(agent: string, wing: string | undefined): Drawer[] {
    // `lower`: MemPalace 3.3.4 and older stored the agent's name in its original case (palace.md 8.1 lists this as a bug).
    const records = this.#database
      .prepare<(string | number)[], DrawerRecord>(
        `SELECT * FROM drawer WHERE ${IN_ROOM} AND lower(json_extract(metadata, '$.agent')) = ?
           ${wing === undefined ? "" : "AND wing = ?"} ORDER BY row DESC LIMIT ?`,
      )
      .all("diary", agent, ...(wing === undefined ? [] : [wing]), DIARY_ROWS_MAX);
    return records.map(toDrawer);
  }

  newestDrawers(wing: string | undefined, limit: number): Drawer[] {
    const { where, values } = condition(wing === undefined ? {} : { wing });
    const sql = `SELECT * FROM drawer ${where} ORDER BY row DESC LIMIT ?`;
    return selectRows<DrawerRecord>(this.#database, sql, ...values, limit)
      .reverse()
      .map(toDrawer);
  }

  newestNotes(wings: readonly string[], isOutside: boolean, limit: number): Drawer[] {
    const places = `wing ${isOutside ? "NOT " : ""}IN (${wings.map(() => "?").join(", ")})`;
    const sql = `SELECT * FROM drawer WHERE row IN (SELECT row FROM drawer WHERE ${places} ORDER BY row DESC LIMIT ${NOTES_SCANNED_MAX})
      AND (source_file = '' OR ${UNMINED}) ORDER BY row DESC LIMIT ?`;
    return selectRows<DrawerRecord>(this.#database, sql, ...wings, limit)
      .reverse()
      .map(toDrawer);
  }

  sources(wing: string | undefined): SourceRow[] {
    return selectRows<SourceRow>(
      this.#database,
      `SELECT source_file AS sourceFile, wing, mtime, sha256, drawers FROM source
           WHERE sha256 <> '' ${wing === undefined ? "" : "AND wing = ?"} ORDER BY source_file`,
      ...(wing === undefined ? [] : [wing]),
    );
  }

  sourceGroups(wing: string | undefined): SourceGroup[] {
    const sql = `SELECT source_file AS sourceFile, ${DIRECTORY_ID} AS directoryId, ${IS_REGISTRY} AS isRegistry,
      count(*) AS drawers, max(row) AS lastRow FROM drawer ${wing === undefined ? "" : "WHERE wing = ?"} GROUP BY 1, 2, 3 ORDER BY min(row)`;
    return this.#database
      .prepare<string[], Omit<SourceGroup, "isRegistry"> & { isRegistry: number }>(sql)
      .all(...(wing === undefined ? [] : [wing]))
      .map((group) => ({ ...group, isRegistry: group.isRegistry === 1 }));
  }

  vectorsByRow(rows: readonly number[]): (Float32Array | undefined)[] {
    const find = this.#database.prepare<[number], Buffer>("SELECT vector FROM vector WHERE row = ?").pluck();
    return rows.map((row) => {
      const blob = find.get(row);
      return blob === undefined ? undefined : toFloats(blob);
    });
  }

  pendingTexts(afterRow: number, limit: number): PendingText[] {
    const sql = `SELECT p.row, d.text_version AS textVersion, d.text FROM pending_embedding p JOIN drawer d ON d.row = p.row
      WHERE p.row > ? ORDER BY p.row LIMIT ?`;
    return selectRows<PendingText>(this.#database, sql, afterRow, limit);
  }

  /** Returns notes (texts without a source file) among the newest waiting texts, the newest first. */
  pendingNotes(limit: number): PendingText[] {
    const sql = `SELECT p.row, d.text_version AS textVersion, d.text
      FROM (SELECT row FROM pending_embedding ORDER BY row DESC LIMIT ?) p CROSS JOIN drawer d ON d.row = p.row
      WHERE d.source_file = '' ORDER BY p.row DESC LIMIT ?`;
    return selectRows<PendingText>(this.#database, sql, NOTES_AMONG, limit);
  }

  lastRow(): number {
    return selectValue<number | null>(this.#database, "SELECT max(row) FROM drawer") ?? 0;
  }

  embeddingCounts(): { embedded: number; pending: number } {
    const pending = selectValue<number>(this.#database, DRAWERS.pending) ?? 0;
    return { embedded: this.drawerCount() - pending, pending };
  }

  drawerCount(): number {
    return selectValue<number>(this.#database, "SELECT coalesce(sum(drawers), 0) FROM place") ?? 0;
  }

  sizeBytes(): number {
    const size = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return size(this.#file) + size(`${this.#file}-wal`);
  }
}
