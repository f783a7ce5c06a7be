/**
 * Lists whole drawers in the order of their ids, with the slices of a split drawer joined, as MemPalace 3.11 does (Source:
 * upstream-latest.md 2.1). Finds the drawers of a page only from indexes.
 */
import type { Drawer, DrawerFilter, LogicalDrawer } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { type DrawerRecord, toDrawer } from "../record.ts";
import { BY_ID, PARENT, SLICE_ORDER } from "../schema/slice-index.ts";
import { condition, isWindow, windowIndex } from "./drawer-filter.ts";
import { selectRow, selectRows, selectValue } from "../select.ts";

type Entry = { id: string; isSplit: number; total?: number };
type Part = { row: number; id: string };
type Sql = { sql: string; values: string[] };

/** Number of UTF-16 units after which no more slices are read: enough for the 200 characters that a list shows. */
const PREVIEW_MAX = 400;

export class LogicalPages {
  readonly #database: LedgerDatabase;
  readonly #filter: DrawerFilter;
  /** Condition on wing and room only. A drawer with slices in two rooms is shown with the slices that meet this condition. */
  readonly #inPlace: Sql;
  /** Condition that a row passes the filter; empty if all rows pass. */
  readonly #within: Sql;

  constructor(database: LedgerDatabase, filter: Omit<DrawerFilter, "sourceFile">) {
    this.#database = database;
    this.#filter = filter;
    const { since: _since, before: _before, ...place } = filter;
    const { where: placeWhere, values: placeValues } = condition(place);
    this.#inPlace = { sql: placeWhere.replace(/^WHERE/, "AND"), values: placeValues };
    const { where, values } = condition(filter);
    const rows = `SELECT row FROM drawer ${windowIndex(database, filter)} ${where}`;
    this.#within = { sql: where === "" ? "" : `AND row IN (${rows})`, values };
  }

  page(limit: number, offset: number): { drawers: LogicalDrawer[]; total: number } {
    const [singles, splits] = [this.#singles(), this.#splits()];
    const all: Sql = {
      sql: `SELECT id, 0 AS isSplit FROM (${singles.sql}) UNION ALL SELECT id, 1 FROM (${splits.sql})`,
      values: [...singles.values, ...splits.values],
    };
    // For a time window one query returns page and total. For a wing or room `#total` counts faster, because it reads no ids.
    const counted = isWindow(this.#filter) ? `SELECT *, count(*) OVER () AS total FROM (${all.sql})` : all.sql;
    const pageSql = `${counted} ORDER BY id LIMIT ? OFFSET ?`;
    const entries = selectRows<Entry>(this.#database, pageSql, ...all.values, limit, offset);
    const total = isWindow(this.#filter) ? (entries[0]?.total ?? this.#count(all)) : this.#total();
    return { drawers: entries.flatMap((entry) => this.#drawer(entry)), total };
  }

  #drawer({ id, isSplit }: Entry): LogicalDrawer[] {
    const { sql, values } = this.#inPlace;
    const slicesSql = `SELECT row, id FROM drawer WHERE ${PARENT} = ? ${sql} ORDER BY ${SLICE_ORDER}`;
    const parts =
      isSplit === 1
        ? selectRows<Part>(this.#database, slicesSql, id, ...values)
        : selectRows<Part>(this.#database, "SELECT row, id FROM drawer WHERE id = ?", id);
    let length = 0;
    const [first, ...more] = parts.flatMap((part): Drawer[] => {
      if (length > PREVIEW_MAX) return [{ ...part, wing: "", room: "", text: "", metadata: {} }];
      const record = selectRow<DrawerRecord>(this.#database, "SELECT * FROM drawer WHERE row = ?", part.row);
      length += record?.text.length ?? 0;
      return record === undefined ? [] : [toDrawer(record)];
    });
    return first === undefined ? [] : [{ id, rows: [first, ...more], isSplit: isSplit === 1 }];
  }

  #slices(columns: string): Sql {
    const { sql, values } = this.#inPlace;
    return { sql: `SELECT ${columns} FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} IS NOT NULL ${sql}`, values };
  }

  /** Returns SQL for the rows that are whole drawers. A row with the id of a split drawer belongs to the split drawer. */
  #singles(): Sql {
    const [isSlice, split, here] = [this.#slices("row"), this.#slices(`DISTINCT ${PARENT}`), this.#within];
    return {
      sql: `SELECT id FROM drawer INDEXED BY ${BY_ID} WHERE id NOT IN (${split.sql}) AND row NOT IN (${isSlice.sql}) ${here.sql}`,
      values: [...split.values, ...isSlice.values, ...here.values],
    };
  }

  /** Returns SQL for the ids of split drawers. A split drawer has the time of its first slice. */
  #splits(): Sql {
    const slices = this.#slices(`DISTINCT ${PARENT} AS id`);
    if (!isWindow(this.#filter)) return slices;
    const { sql: inPlace, values: place } = this.#inPlace;
    const here = this.#within;
    const first = `SELECT row FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} = split.id ${inPlace}
      ORDER BY ${SLICE_ORDER} LIMIT 1`;
    return {
      sql: `SELECT id FROM (${slices.sql} ${here.sql}) AS split WHERE EXISTS (SELECT 1 FROM drawer WHERE row = (${first}) ${here.sql})`,
      values: [...slices.values, ...here.values, ...place, ...here.values],
    };
  }

  /** Counts the drawers of a wing or room without reading all ids. */
  #total(): number {
    const [isSlice, split] = [this.#slices("row"), this.#slices(`DISTINCT ${PARENT}`)];
    const { sql: inPlace, values: place } = this.#inPlace;
    const hidden = this.#count({
      sql: `SELECT row FROM drawer INDEXED BY ${BY_ID} WHERE id IN (${split.sql}) AND ${PARENT} IS NULL ${inPlace}`,
      values: [...split.values, ...place],
    });
    const { where, values } = condition(this.#filter);
    const rows =
      selectValue<number>(this.#database, `SELECT coalesce(sum(drawers), 0) FROM place ${where}`, ...values) ?? 0;
    return rows - this.#count(isSlice) - hidden + this.#count(this.#splits());
  }

  #count({ sql, values }: Sql): number {
    return selectValue<number>(this.#database, `SELECT count(*) FROM (${sql})`, ...values) ?? 0;
  }
}
