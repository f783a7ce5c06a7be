/**
 * Undoes one agent's writes that arrived since a moment, from the before-images of the agent's journal rows. The time that a client claims
 * does not count. A row is restored only if it still is as the agent left it. A row that somebody else has changed is reported and stays.
 * The rows of a long drawer are restored together or not at all. Runs on the writer thread as one write, which has its own before-images
 * and can be undone too.
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

type ImageRow = { seq: number; kind: ImageKind; id: string; before: string | null; after: string | null };
/**
 * The agent's changes of one row. `before`, `after`: the row before the first change and after the last. `changed`: a row of the same
 * drawer that somebody else has changed.
 */
type History = {
  kind: ImageKind;
  id: string;
  before: string | null;
  after: string | null;
  isBroken: boolean;
  firstSeq: number;
  changed?: History;
};

/** Condition for the journal rows of the writes to undo, with the parameters of UndoWindow. */
const IN_WINDOW = "agent = @agent AND at_ms BETWEEN @sinceMs AND @untilMs AND (@seq IS NULL OR seq = @seq)";
/** Prefix of the agent names that a person's own commands use. */
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
    const { writes, windowMs } = selectRow<{ writes: number; windowMs: number | null }>(
      this.#database,
      `SELECT count(*) AS writes, max(at_ms) AS windowMs FROM journal WHERE ${IN_WINDOW} AND NOT is_refusal(result)`,
      window,
    ) ?? { writes: 0, windowMs: null };
    const newestMs = this.#database
      .prepare<[string], number>(
        "SELECT at_ms FROM journal WHERE agent = ? AND NOT is_refusal(result) ORDER BY seq DESC LIMIT 1",
      )
      .pluck();
    const tooOld = selectValue<number>(
      this.#database,
      `SELECT count(*) FROM journal WHERE ${IN_WINDOW}
           AND NOT is_refusal(result) AND seq < CAST(coalesce((SELECT value FROM meta WHERE key = 'undo_from_seq'), 0) AS INTEGER)`,
      window,
    );
    const agents = selectValues<string>(
      this.#database,
      "SELECT agent FROM journal WHERE at_ms >= ? AND at_ms <= ? AND NOT is_refusal(result) GROUP BY agent ORDER BY count(*) DESC LIMIT 20",
      sinceMs,
      untilMs,
    );
    const dated = selectRow<{ dated: number; earliestMs: number | null }>(
      this.#database,
      `SELECT count(*) AS dated, min(claimed_ms) AS earliestMs FROM journal_claim
           JOIN journal ON journal.seq = journal_claim.journal
           WHERE ${IN_WINDOW} AND NOT is_refusal(result)`,
      window,
    ) ?? { dated: 0, earliestMs: null };
    // The histories are in ORDER: the decision about an entity depends on those about its facts, and outcomes follow their drawer.
    const leaving = new Set<string>();
    const drawers = new Map<string, UndoItem>();
    const items = this.#histories(window).flatMap((history) => {
      const item = this.#withDrawer(this.#judge(history, leaving, window), drawers, agent);
      if (item?.kind === "drawer") drawers.set(item.id, item);
      if (item?.kind === "triple" && item.change === "remove") leaving.add(item.id);
      return item === undefined ? [] : [{ item, history }];
    });
    const latestMs = windowMs ?? newestMs.get(agent) ?? null;
    return { items, counts: { writes, tooOld: tooOld ?? 0, ...dated, latestMs, agents } };
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
        // If the row's old state is not the state after the agent's write before, somebody else changed the row in between.
        known.isBroken ||= this.#digestOf(kind, before) !== known.after;
        known.after = after;
      }
    }
    this.#noteChanged(histories.values());
    return [...histories.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  }

  /** Sets `changed` in each history whose row somebody else has changed. If one row of a long drawer was changed, all its rows get it. */
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

  /** Decides whether a row can be restored. Returns undefined if it already has its old state. */
  #judge(history: History, leaving: ReadonlySet<string>, window: UndoWindow): UndoItem | undefined {
    const { kind, id, before, after, changed } = history;
    if (this.#currentDigest(kind, id) === this.#digestOf(kind, before)) return undefined;
    // A filing record is restored even if somebody else has changed it since.
    if (kind === "source") return before === null && this.#isUnfiled(id) ? undefined : { kind, id, change: "restore" };
    if (changed !== undefined) return { kind, id, change: "refused", by: this.#otherWriter(changed, window) };
    if (kind === "entity" && before === null && this.#isNamed(id, leaving)) return undefined;
    return { kind, id, change: before === null ? "remove" : after === null ? "restore" : "revert" };
  }

  /**
   * Makes the decisions about a drawer and about its outcomes agree. A drawer that an agent made is removed even if other agents have
   * scored it, because its text may be harmful. A drawer that a person's command made stays if other agents have scored it.
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
    if (kind === "triple")
      return this.#database
        .prepare<[string], string>("SELECT subject || ' ' || predicate || ' ' || object FROM kg_triple WHERE id = ?")
        .pluck()
        .get(id);
    if (kind !== "drawer") return undefined;
    const comesBack = change === "restore" || change === "revert";
    if (comesBack && before !== null) return drawerIn(before).text;
    return this.#tx.findDrawer(id)?.text;
  }

  #restore({ kind, id, before }: History): void {
    if (kind === "drawer") return this.#restoreDrawer(id, before);
    if (kind === "source") return this.#restoreSource(id, before);
    // Skips the outcomes of a drawer that does not exist.
    if (kind === "standing") return void (this.#tx.findDrawer(id) && this.#tx.standings.restore(id, before));
    if (kind === "imported") return this.#tx.imported.restore(id, before);
    if (kind === "carried") return this.#tx.carried.restore(id, before);
    // Keeps an entity that a fact names. This write may have restored such a fact.
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

  /** Deletes the closets of the drawer's source, because they point at the present drawers. Keeps closets that a language model wrote. */
  #dropClosets(metadata: Metadata | undefined): void {
    const source = metadata?.["source_file"];
    if (typeof source === "string" && !this.#tx.closets.isModelMade(source)) this.#tx.closets.remove(source);
  }

  /** Restores a filing record. If there was none, it stores an empty record, so that the feeder files the source again on its next run. */
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

  /** Returns the name of an agent that wrote after the first undone write. A foreign MemPalace has no journal rows and is not found. */
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
