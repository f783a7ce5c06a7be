/** Finds and deletes the rows to be forgotten. write/eraser.ts and mempalace/erase later erase the bytes that remain in files. */
import type { Drawer } from "../../port/drawer.ts";
import type { ForgetSelector, ForgetTx, Found } from "../../port/hygiene.ts";
import { MODE_SEPARATOR } from "../../port/source.ts";
import type { Forgotten } from "../../../protocol/hygiene.ts";
import { readAnyColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { type DrawerRecord, sliceBounds, isSliceOf, toDrawer } from "../record.ts";
import type { LedgerTables } from "../tables/tables.ts";
import { carriedImages, carriedRows, carriedTest } from "./roampal-graph.ts";
import { type GraphNames, graphNames, heldAs } from "./graph-names.ts";
import { type Cleaner, cleanImported, cleanImportedImages, type Written } from "./imported.ts";
import { forgetQuestions } from "./questions.ts";
import { stringsOf } from "./strings.ts";
import { textParts } from "./cut-texts.ts";
import { selectRows, selectValues } from "../select.ts";

const FORGOTTEN = "[forgotten]";
/** Matches ids of memories with outcomes. Forgetting one cleans the journal row that made it, even if the row lacks id and words. */
const MEMORY_ID = /^(?:working|history|patterns|memory_bank|books)_[0-9a-f]{8}(?:_|$)/;
const isDrawerId = (text: string): boolean => /^(?:drawer|diary)_/.test(text) || MEMORY_ID.test(text);
/** Length of a text's preview in answers (memory/drawer/logical.ts), code points. */
const PREVIEW = 200;

type JournalRow = Written & { seq: number };
type Changed = { kind: string; id: string };

export class SqliteForget implements ForgetTx {
  readonly #database: LedgerDatabase;
  readonly #tx: LedgerTables;
  /** Cached results of `carriedTest`, by the list of drawers. They contain words to be forgotten, so they are freed with the list. */
  readonly #carriedTests = new WeakMap<readonly Drawer[], ReturnType<typeof carriedTest>>();

  constructor(database: LedgerDatabase, tx: LedgerTables) {
    this.#database = database;
    this.#tx = tx;
  }

  find(selector: ForgetSelector): Found {
    const drawers = this.#drawers(selector);
    const match = selector.match;
    return {
      drawers,
      missing: (selector.ids ?? []).filter(
        (id) => !drawers.some((drawer) => drawer.id === id || isSliceOf(id, drawer)),
      ),
      carried: carriedRows(this.#database, this.#carriedTest(drawers, selector)),
      ...(match === undefined ? { facts: [], entities: [], links: [] } : this.#graphHolding(match)),
    };
  }

  forget(found: Found, selector: ForgetSelector, atMs: number): Forgotten {
    const { drawers, facts, entities, links, carried } = found;
    // A damaged row may end this write half-way.
    this.#tx.touch();
    const words = wordsOf(found, selector, graphNames(this.#database, found, selector.match));
    const named = this.#cleanJournal(words);
    const images = this.#cleanImages(found, selector, named, words);
    // Closets quote their source, so the closets of each forgotten drawer's source are forgotten, too.
    const sources = drawers.map(({ metadata }) => String(metadata["source_file"] ?? "")).concat(selector.source ?? []);
    const { match } = selector;
    const closets = this.#tx.closets.forget([...new Set(sources)], match, match === undefined ? "" : inJson(match));
    this.#tx.deleteDrawers(drawers.map(({ id }) => id));
    this.#dropSources(sources, match);
    // Deletes all documents that are still arriving in parts, because one of them may contain the text.
    this.#tx.parts.dropBefore(Number.MAX_SAFE_INTEGER);
    for (const id of facts) this.#tx.graph.restore("triple", id, null);
    for (const id of entities) this.#tx.graph.restore("entity", id, null);
    for (const { kind, id } of links) this.#tx.graph.deleteLink(kind, id);
    for (const id of carried) this.#tx.carried.restore(id, null);
    // Without before-images, an undo of this write cannot bring the text back.
    this.#tx.images.clear();
    const ids = [...new Set([...words.ids, ...named.ids, ...closets])];
    const { lastInsertRowid } = this.#database
      .prepare("INSERT INTO erasure (ids, at_ms) VALUES (?, ?)")
      .run(JSON.stringify(ids), atMs);
    return {
      drawers: drawers.length,
      facts: facts.length,
      links: links.length,
      carried: carried.length,
      journalRows: named.rows,
      images,
      erasure: Number(lastInsertRowid),
    };
  }

  /** Marks filing records that have no drawers or whose name contains the text; background indexing then deletes them. */
  #dropSources(sources: readonly string[], match: string | undefined): void {
    const path = "substr(source.source_file, 1, instr(source.source_file || @mark, @mark) - 1)";
    this.#database
      .prepare(
        `INSERT OR IGNORE INTO source_dirty SELECT source_file FROM source
           WHERE (@match IS NOT NULL AND instr(source_file, @match) > 0)
             OR (${path} IN (SELECT value FROM json_each(@sources) WHERE value <> '')
               AND NOT EXISTS (SELECT 1 FROM drawer d WHERE d.source_file = ${path} AND d.source_file <> ''))`,
      )
      .run({ mark: MODE_SEPARATOR, match: match ?? null, sources: JSON.stringify(sources) });
  }

  /** Calls `carriedTest` once for a list, so that `find` and `forget` look up each word only once. */
  #carriedTest(drawers: readonly Drawer[], selector: ForgetSelector): ReturnType<typeof carriedTest> {
    const test = this.#carriedTests.get(drawers) ?? carriedTest(this.#database, drawers, selector);
    this.#carriedTests.set(drawers, test);
    return test;
  }

  #drawers({ ids, source, match }: ForgetSelector): Drawer[] {
    if (source !== undefined) return this.#tx.drawersOfSource(source);
    if (ids !== undefined) return this.#whole(ids.flatMap((id) => this.#tx.findDrawer(id) ?? this.#tx.slicesOf(id)));
    if (match === undefined) return [];
    const sql = "SELECT * FROM drawer WHERE instr(text, ?) OR instr(metadata, ?) OR instr(id, ?) ORDER BY row";
    const found = selectRows<DrawerRecord>(this.#database, sql, match, inJson(match), match).map(toDrawer);
    return this.#whole([...found, ...textParts(this.#database, match, found)]);
  }

  /** Adds the missing slices of split drawers. */
  #whole(drawers: readonly Drawer[]): Drawer[] {
    const all = new Map<string, Drawer>();
    const parents = new Set<string>();
    for (const drawer of drawers) {
      all.set(drawer.id, drawer);
      const parent = drawer.metadata["parent_drawer_id"] ?? drawer.metadata["parent_entry_id"];
      if (typeof parent === "string" && parent !== "") parents.add(parent);
    }
    for (const parent of parents) for (const slice of this.#tx.slicesOf(parent)) all.set(slice.id, slice);
    return [...all.values()].sort((a, b) => a.row - b.row);
  }

  #graphHolding(match: string): Pick<Found, "facts" | "entities" | "links"> {
    const holds = (...columns: string[]): string =>
      columns.map((column) => `instr(${column}, @match) > 0`).join(" OR ");
    const { id, isPart } = heldAs(match);
    // Names of entities are compared as ids, which are in lower case. Predicates are always in lower case.
    const named = (column: string): string => (isPart ? `instr(${column}, @id) > 0` : `${column} = @id`);
    const entitySql = `SELECT id FROM kg_entity WHERE ${named("id")} OR ${holds("id", "name", "properties", "type")}`;
    const entities = selectValues<string>(this.#database, entitySql, { match, id });
    const factSql = `SELECT id FROM kg_triple WHERE subject IN (SELECT value FROM json_each(@entities))
      OR object IN (SELECT value FROM json_each(@entities)) OR ${named("predicate")}
      OR ${holds("id", "subject", "predicate", "object", "source_closet", "source_file", "source_drawer_id")}`;
    const facts = selectValues<string>(this.#database, factSql, { match, id, entities: JSON.stringify(entities) });
    const linkSql = "SELECT kind, id FROM link WHERE instr(record, ?) > 0 OR instr(id, ?) > 0";
    const links = selectRows<Found["links"][number]>(this.#database, linkSql, inJson(match), match);
    return { facts, entities, links };
  }

  /** Returns the number of cleaned journal rows, and as `ids` the other drawers that these rows name. The rows keep their keys. */
  #cleanJournal(words: Words): { rows: number; ids: string[] } {
    const clean = this.#database.prepare(
      `UPDATE journal SET fingerprint = '', arguments = '{"forgotten":true}', result = ? WHERE seq = ?`,
    );
    const memories = [...words.ids].filter((id) => MEMORY_ID.test(id));
    const sql = "SELECT journal FROM change WHERE kind = 'drawer' AND id IN (SELECT value FROM json_each(?))";
    const making = new Set(selectValues<number>(this.#database, sql, JSON.stringify(memories)));
    const dirty: { seq: number; result: string }[] = [];
    const ids = new Set<string>();
    const rows = this.#database.prepare<[], JournalRow>("SELECT seq, method, arguments, result FROM journal");
    for (const row of rows.iterate()) {
      const result = cleaned(row, words, making.has(row.seq), ids);
      if (result !== undefined) dirty.push({ seq: row.seq, result });
    }
    for (const { seq, result } of dirty) clean.run(result, seq);
    const imported = cleanImported(this.#database, cleanerOf(words, ids));
    return { rows: dirty.length + imported, ids: [...ids] };
  }

  #cleanImages(
    { drawers, facts, entities, links, carried }: Found,
    selector: ForgetSelector,
    named: { ids: string[] },
    words: Words,
  ): number {
    const { graph } = words;
    const ids = [...drawers.map(({ id }) => id), ...(selector.ids ?? [])];
    const asked = forgetQuestions(this.#database, ids, selector.concepts ?? []);
    const kinds: readonly [kind: string, ids: readonly string[]][] = [
      ["drawer", ids],
      ["standing", [...ids, ...asked]],
      ["triple", facts],
      ["entity", entities],
      ["carried", [...carried, ...carriedImages(this.#database, this.#carriedTest(drawers, selector))]],
      ["tunnel", links.flatMap(({ kind, id }) => (kind === "tunnel" ? [id] : []))],
      ["hallway", links.flatMap(({ kind, id }) => (kind === "hallway" ? [id] : []))],
    ];
    const remove = this.#database.prepare(
      "DELETE FROM change WHERE kind = ? AND id IN (SELECT value FROM json_each(?))",
    );
    let removed = cleanImportedImages(this.#database, cleanerOf(words, new Set()));
    for (const [kind, of] of kinds) if (of.length > 0) removed += remove.run(kind, JSON.stringify(of)).changes;
    const slices = this.#database.prepare("DELETE FROM change WHERE kind = 'drawer' AND id BETWEEN ? AND ?");
    for (const id of selector.ids ?? []) removed += slices.run(...sliceBounds(id)).changes;
    const { match, source } = selector;
    const sql = "SELECT DISTINCT kind, id FROM change WHERE kind IN ('triple', 'entity')";
    const holding = selectRows<Changed>(this.#database, sql).filter(({ id }) => graph.isId(id));
    const ofSource =
      "SELECT DISTINCT kind, id FROM change WHERE kind = 'drawer' AND json_extract(before, '$.metadata.source_file') = ?";
    if (source !== undefined) holding.push(...selectRows<Changed>(this.#database, ofSource, source));
    const matching =
      "SELECT DISTINCT kind, id FROM change WHERE kind NOT IN ('carried', 'imported') AND (instr(before, ?) > 0 OR instr(id, ?) > 0)";
    if (match !== undefined) holding.push(...selectRows<Changed>(this.#database, matching, inJson(match), match));
    for (const { kind, id } of holding) {
      if (kind === "drawer") named.ids.push(id);
      removed += remove.run(kind, JSON.stringify([id])).changes;
    }
    return removed;
  }
}

/** Returns the row's result without the forgotten words; undefined for a row without these words. Adds the row's other drawers to `ids`. */
function cleaned(row: Written, words: Words, isMaking: boolean, ids: Set<string>): string | undefined {
  if (isMaking) return JSON.stringify({ text: FORGOTTEN });
  const given = [...stringsOf(readAnyColumn("journal.arguments", row.arguments))];
  const result = readAnyColumn("journal.result", row.result);
  const strings = [...given, ...stringsOf(result)];
  const isOfSource = given.some((text) => words.isSource(text, row.method));
  const isNamed = (text: string): boolean => words.ids.has(text) || words.graph.isNameIn(row.method, text);
  if (!isOfSource && !strings.some((text) => words.isOf(text) || isNamed(text))) return undefined;
  // A drawer that had the text earlier may still be in the outbox with that text, so the erasure must wait for it, too.
  if (words.isWide) for (const text of strings) if (isDrawerId(text)) ids.add(text);
  return JSON.stringify(withoutWords(result, words));
}

/** Returns the functions that clean imported rows. `cleanRow` adds a row's other drawers to `ids`. */
function cleanerOf(words: Words, ids: Set<string>): Cleaner {
  const isMade = (made: readonly string[]): boolean => made.some((id) => words.ids.has(id));
  return {
    cleanRow: (row, made) => cleaned(row, words, isMade(made), ids),
    cleanName: (text) => String(withoutWords(text, words)),
  };
}

type Words = {
  ids: ReadonlySet<string>;
  isOf: (text: string) => boolean;
  /** True if the argument is a forgotten source or, in a feeder's method, a source that loses drawers. */
  isSource: (text: string, method: string) => boolean;
  graph: GraphNames;
  /** True if `cleaned` also collects drawers that no longer exist. */
  isWide: boolean;
};

function wordsOf({ drawers }: Found, { ids = [], match, source }: ForgetSelector, graph: GraphNames): Words {
  const names = new Set([...ids, ...drawers.map(({ id }) => id)]);
  const texts = new Set<string>();
  const sources = new Set(drawers.map(({ metadata }) => metadata["source_file"]).filter((file) => file !== ""));
  for (const { text, metadata } of drawers) {
    texts.add(text);
    texts.add(`${Array.from(text).slice(0, PREVIEW).join("")}...`);
    const parent = metadata["parent_drawer_id"] ?? metadata["parent_entry_id"];
    if (typeof parent === "string" && parent !== "") names.add(parent);
  }
  return {
    ids: names,
    isOf: (text) => texts.has(text) || (match !== undefined && text.includes(match)),
    // Feeders' methods have a dot in their name. They send whole documents, which contain the drawers' texts.
    isSource: (text, method) => text === source || (method.includes(".") && sources.has(text)),
    graph,
    isWide: match !== undefined || source !== undefined,
  };
}

/** Removes the words from an answer. Drawer ids stay, so that a repeated call still gets the id of the drawer that it made. */
function withoutWords(value: unknown, words: Words): unknown {
  const isGone = (text: string): boolean => words.isOf(text) || (!isDrawerId(text) && words.graph.isOf(text));
  if (typeof value === "string") return isGone(value) ? FORGOTTEN : value;
  if (Array.isArray(value)) return value.map((one) => withoutWords(one, words));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [isGone(key) ? FORGOTTEN : key, withoutWords(one, words)]),
  );
}

/** Escapes a text for use between the quotes of a JSON string. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
