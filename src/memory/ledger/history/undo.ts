/**
 * Undoes one agent's writes in a window of arrival times, from their before-images. Reports and keeps a row that somebody else has changed
 * since. Restores the rows of a long drawer together or not at all. An undo is one write, which can be undone too.
 */
import { isRecord } from "../../../base/parse-json.ts";
import type { Metadata } from "../../port/drawer.ts";
import type { PlannedUndo, UndoItem, UndoPlan, UndoTx, UndoWindow } from "../../port/hygiene.ts";
import { isColumns, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { digest, drawerDigest, isMetadata, wholeId } from "../record.ts";
import type { ImageKind } from "../tables/before-images.ts";
import { defineIsRefusal } from "./journal.ts";
import type { LedgerTables } from "../tables/tables.ts";
import { selectRow, selectRows, selectValue, selectValues } from "../select.ts";

type Counts = Pick<UndoPlan, "writes" | "tooOld" | "dated" | "earliestMs">;
type ImageRow = { seq: number; kind: ImageKind; id: string; before: string | null; after: string | null };
/** The agent's changes of one row. */
type History = {
  kind: ImageKind;
  id: string;
  before: string | null;
  after: string | null;
  /** True if somebody else changed the row between two of these changes. */
  isBroken: boolean;
  firstSeq: number;
  /** Row of the same drawer that somebody else has changed. */
  changed?: History;
};

const IN_WINDOW = "agent = @agent AND at_ms BETWEEN @sinceMs AND @untilMs AND (@seq IS NULL OR seq = @seq)";
/** Prefix of the agent names of a person's own commands. */
const COMMANDS = "palace ";
const ORDER: readonly ImageKind[] = [
  "drawer",
  "standing",
  "source",
  "triple",
  "entity",
  "tunnel",
  "hallway",
  "carried",
  "imported",
];

export class SqliteUndo implements UndoTx {
  readonly #database: LedgerDatabase;
  readonly #tx: LedgerTables;

  constructor(database: LedgerDatabase, tx: LedgerTables) {
    this.#database = database;
    defineIsRefusal(database);
    this.#tx = tx;
  }

  plan(window: UndoWindow, textsMax: number): UndoPlan<PlannedUndo> {
    const { items, counts } = this.#plan(window);
    const planned = items.map(({ item, history }, at): PlannedUndo => {
      const text = at < textsMax ? this.#textOf(item, history) : undefined;
      return text === undefined ? item : { ...item, text };
    });
    return { ...counts, items: planned };
  }

  undo(window: UndoWindow): UndoPlan {
    const { items, counts } = this.#plan(window);
    for (const { item, history } of items) if (item.change !== "refused") this.#restore(history);
    return { ...counts, items: items.map(({ item }) => item) };
  }

  #plan(window: UndoWindow): { items: { item: UndoItem; history: History }[]; counts: Omit<UndoPlan, "items"> } {
    const { agent, sinceMs, untilMs } = window;
    const { windowMs, ...counts } = selectRow(
      this.#database,
      `SELECT count(*) AS writes, count(*) FILTER (
           WHERE seq < CAST(coalesce((SELECT value FROM meta WHERE key = 'undo_from_seq'), 0) AS INTEGER)) AS tooOld,
           count(claimed_ms) AS dated, min(claimed_ms) AS earliestMs, max(at_ms) AS windowMs
         FROM journal LEFT JOIN journal_claim ON journal_claim.journal = journal.seq
         WHERE ${IN_WINDOW} AND NOT is_refusal(result)`,
      window,
    ) as Counts & { windowMs: number | null };
    const newestSql = "SELECT at_ms FROM journal WHERE agent = ? AND NOT is_refusal(result) ORDER BY seq DESC LIMIT 1";
    const latestMs = windowMs ?? selectValue<number>(this.#database, newestSql, agent) ?? null;
    const agents = selectValues<string>(
      this.#database,
      "SELECT agent FROM journal WHERE at_ms >= ? AND at_ms <= ? AND NOT is_refusal(result) GROUP BY agent ORDER BY count(*) DESC LIMIT 20",
      sinceMs,
      untilMs,
    );
    // ORDER puts facts before entities, and drawers before outcomes, because the later decision depends on the earlier.
    const leaving = new Set<string>();
    const drawers = new Map<string, UndoItem>();
    const items = this.#histories(window).flatMap((history) => {
      const item = this.#withDrawer(this.#judge(history, leaving, window), drawers, agent);
      if (item?.kind === "drawer") drawers.set(item.id, item);
      if (item?.kind === "triple" && item.change === "remove") leaving.add(item.id);
      return item === undefined ? [] : [{ item, history }];
    });
    return { items, counts: { ...counts, latestMs, agents } };
  }

  #histories(window: UndoWindow): History[] {
    const rows = selectRows<ImageRow>(
      this.#database,
      `SELECT c.journal AS seq, c.kind, c.id, c.before, c.after FROM change c JOIN journal j ON j.seq = c.journal
           WHERE ${IN_WINDOW} ORDER BY c.journal`,
      window,
    );
    const histories = new Map<string, History>();
    for (const { seq, kind, id, before, after } of rows) {
      const name = `${kind} ${id}`;
      const known = histories.get(name);
      if (known === undefined) histories.set(name, { kind, id, before, after, isBroken: false, firstSeq: seq });
      else {
        // If this old state is not what the agent's previous write left, somebody else changed the row in between.
        known.isBroken ||= this.#digestOf(kind, before) !== known.after;
        known.after = after;
      }
    }
    this.#noteChanged(histories.values());
    return [...histories.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  }

  /** If somebody else has changed one row of a long drawer, sets `changed` for all its rows. */
  #noteChanged(histories: Iterable<History>): void {
    const changed = new Map<string, History>();
    const nameOf = ({ kind, id }: History): string => `${kind} ${kind === "drawer" ? wholeId(id) : id}`;
    const all = [...histories];
    for (const history of all) {
      const { kind, id, after, isBroken } = history;
      if (isBroken || this.#currentDigest(kind, id) !== after) changed.set(nameOf(history), history);
    }
    for (const history of all) {
      const other = changed.get(nameOf(history));
      if (other !== undefined) history.changed = other;
    }
  }

  /** Decides whether to remove, restore, revert or refuse a row. Returns undefined if the row needs no change. */
  #judge(history: History, leaving: ReadonlySet<string>, window: UndoWindow): UndoItem | undefined {
    const { kind, id, before, after, changed } = history;
    if (this.#currentDigest(kind, id) === this.#digestOf(kind, before)) return undefined;
    // A filing record is restored even if somebody else has changed it.
    if (kind === "source") return before === null && this.#isUnfiled(id) ? undefined : { kind, id, change: "restore" };
    if (changed !== undefined) return { kind, id, change: "refused", by: this.#otherWriter(changed, window) };
    if (kind === "entity" && before === null && this.#isNamed(id, leaving)) return undefined;
    return { kind, id, change: before === null ? "remove" : after === null ? "restore" : "revert" };
  }

  /**
   * Makes the decisions about a drawer and its outcomes agree. An agent's drawer is removed even if other agents have scored it, because
   * its text may be harmful. A person's drawer stays if other agents have scored it.
   */
  #withDrawer(item: UndoItem | undefined, drawers: ReadonlyMap<string, UndoItem>, agent: string): UndoItem | undefined {
    const drawer = item?.kind === "standing" ? drawers.get(item.id) : undefined;
    if (item === undefined || drawer === undefined) return item;
    if (drawer.change === "remove" && item.change === "refused" && agent.startsWith(COMMANDS))
      Object.assign(drawer, { change: item.change, by: item.by });
    if (drawer.change === "remove") return undefined;
    return drawer.change === "refused" ? { ...drawer, kind: item.kind } : item;
  }

  #textOf({ kind, id, change }: UndoItem, { before }: History): string | undefined {
    const factSql = "SELECT subject || ' ' || predicate || ' ' || object FROM kg_triple WHERE id = ?";
    if (kind === "triple") return selectValue<string>(this.#database, factSql, id);
    if (kind !== "drawer") return undefined;
    const comesBack = change === "restore" || change === "revert";
    if (comesBack && before !== null) return drawerIn(before).text;
    return this.#tx.findDrawer(id)?.text;
  }

  #restore({ kind, id, before }: History): void {
    if (kind === "drawer") return this.#restoreDrawer(id, before);
    if (kind === "source") return this.#restoreSource(id, before);
    if (kind === "standing") return void (this.#tx.findDrawer(id) && this.#tx.standings.restore(id, before));
    if (kind === "imported") return this.#tx.imported.restore(id, before);
    if (kind === "carried") return this.#tx.carried.restore(id, before);
    // Keeps an entity that a fact names: this undo may have restored the fact.
    if (kind === "entity" && before === null && this.#isNamed(id, new Set())) return;
    this.#tx.graph.restore(kind, id, before);
  }

  #restoreDrawer(id: string, before: string | null): void {
    this.#dropClosets(this.#tx.findDrawer(id)?.metadata);
    if (before === null) return void this.#tx.deleteDrawer(id);
    const { text, metadata } = drawerIn(before);
    if (this.#tx.findDrawer(id) === undefined) this.#tx.insertDrawers([{ id, text, metadata }]);
    else this.#tx.updateDrawer(id, { text, metadata });
  }

  /** Deletes the closets of the drawer's source, because they point at the present drawers. Keeps those that a language model wrote. */
  #dropClosets(metadata: Metadata | undefined): void {
    const source = metadata?.["source_file"];
    if (typeof source === "string" && !this.#tx.closets.isModelMade(source)) this.#tx.closets.remove(source);
  }

  /** Restores a filing record. If the source had none, stores an empty one, so that the feeder files the source again. */
  #restoreSource(sourceFile: string, before: string | null): void {
    const record = before === null ? ["", 0, "", 0] : readColumn("change.before", before, isColumns);
    const [wing, mtime, sha256, drawers] = record as [string, number, string, number];
    this.#tx.putSource({ sourceFile, wing, mtime, sha256, drawers });
  }

  #isNamed(entity: string, leaving: ReadonlySet<string>): boolean {
    const sql = "SELECT id FROM kg_triple WHERE subject = @entity OR object = @entity";
    const facts = selectValues<string>(this.#database, sql, { entity });
    return facts.some((id) => !leaving.has(id));
  }

  #isUnfiled(sourceFile: string): boolean {
    const sql = "SELECT sha256 FROM source WHERE source_file = ?";
    return (selectValue<string>(this.#database, sql, sourceFile) ?? "") === "";
  }

  #currentDigest(kind: ImageKind, id: string): string | null {
    if (kind === "drawer") {
      const drawer = this.#tx.findDrawer(id);
      return drawer === undefined ? null : drawerDigest(drawer);
    }
    const state = this.#tx.images.stateOf(kind, id);
    return state === undefined ? null : digest(state);
  }

  #digestOf(kind: ImageKind, image: string | null): string | null {
    if (image === null) return null;
    return kind === "drawer" ? drawerDigest(drawerIn(image)) : digest(image);
  }

  /** Returns the agent that last changed this row after the first undone write; a foreign MemPalace if no journal row names one. */
  #otherWriter({ kind, id, firstSeq }: History, window: UndoWindow): string {
    const sql = `SELECT j.agent FROM change c JOIN journal j ON j.seq = c.journal
      WHERE c.kind = @kind AND c.id = @id AND c.journal > @firstSeq AND NOT (${IN_WINDOW})
      ORDER BY c.journal DESC LIMIT 1`;
    const other = selectValue<string>(this.#database, sql, { ...window, kind, id, firstSeq });
    return other ?? "a MemPalace beside this memory";
  }
}

function drawerIn(image: string): { text: string; metadata: Metadata } {
  return readColumn("change.before", image, isDrawer);
}

function isDrawer(value: unknown): value is { text: string; metadata: Metadata } {
  return isRecord(value) && typeof value["text"] === "string" && isMetadata(value["metadata"]);
}
