/**
 * Merges drawers. An id is made from a note's first text, so a note has the same id in both memories, even if it was edited later.
 *
 * | our drawer                           | the import                                                               |
 * | ------------------------------------ | ------------------------------------------------------------------------ |
 * | is absent                            | adds theirs; the preview reports one that was imported and deleted here  |
 * | has the same text                    | changes nothing and counts it in `here`                                  |
 * | is part of a mined file              | skips the whole file; the next mining run files its newest version       |
 * | was edited, theirs is as it was made | keeps ours                                                               |
 * | is as it was made, theirs was edited | replaces ours; if either has slices, files theirs beside ours            |
 * | was edited, and theirs, too          | files theirs beside ours, under an id made from its text                 |
 */
import type { LogicalDrawer, Metadata, NewDrawer } from "../port/drawer.ts";
import type { LedgerTx } from "../port/ledger.ts";
import { type ImportItems, minedFrom } from "../../protocol/import.ts";
import { drawerIds, sliceId } from "../drawer/drawer-id.ts";
import { findLogical, textOf } from "../drawer/logical.ts";
import { sha256Hex } from "../text/text.ts";
import type { Merging } from "./merging.ts";

const IMPORT = "memory.import";
/** Method of undo. An import may add drawers again that an undo removed. */
const UNDO = "memory.undo";
const REGISTRY_ROOM = "_registry";
const BESIDE = /^(.+)_beside_([0-9a-f]{12})$/;

type Item = { id: string; rows: readonly NewDrawer[]; text: string };

export function mergeDrawers(merging: Merging, items: readonly ImportItems["drawer"][]): void {
  const { tx, report, isDry } = merging;
  const absent: Item[] = [];
  for (const { id, rows: given } of items) {
    const rows = given as readonly NewDrawer[];
    const item = { id, rows, text: rows.map(({ text }) => text).join("") };
    if (isHere(tx, item)) report.here += rows.length;
    else {
      const ours = findLogical(tx, id);
      if (ours !== undefined) meet(merging, item, ours);
      else if (rows.every((row) => tx.findDrawer(row.id) === undefined)) absent.push(item);
      else fileBeside(merging, item);
    }
  }
  const gone = isDry ? goneOf(tx, absent) : new Set<string>();
  for (const { id, rows } of absent)
    if (rows.some((row) => gone.has(row.id))) report.gone.push(id);
    else merging.add(rows.length, () => tx.insertDrawers(rows));
}

/** Returns true if this memory has the text under this id, under the other recipe's id, or under an id that `fileBeside` made. */
function isHere(tx: LedgerTx, { id, rows, text }: Item): boolean {
  if (rows.every((row) => tx.findDrawer(row.id)?.text === row.text)) return true;
  const holds = (other: string): boolean => {
    const ours = findLogical(tx, other);
    return ours !== undefined && textOf(ours) === text;
  };
  if (holds(id) || holds(besideId(id, text))) return true;
  const [, base, digest] = BESIDE.exec(id) ?? [];
  if (base !== undefined && digest === digestOf(text) && holds(base)) return true;
  const ids = idsOf(rows[0]?.metadata, text);
  return ids.includes(id) && ids.some(holds);
}

function meet(merging: Merging, item: Item, ours: LogicalDrawer): void {
  const { tx, report } = merging;
  const { id, rows, text } = item;
  const [first] = ours.rows;
  if (first.room === REGISTRY_ROOM) {
    report.here += rows.length;
    return;
  }
  const sourceFile = minedFrom(first.metadata);
  if (sourceFile !== undefined) {
    report.keptSources.push(sourceFile);
    return;
  }
  const [theirs] = rows;
  const wereMadeAlike = idsOf(theirs?.metadata, text).includes(id);
  if (wereMadeAlike) report.kept.push(id);
  else if (idsOf(first.metadata, textOf(ours)).includes(id) && !ours.isSplit && rows.length === 1 && theirs)
    merging.update(1, () => tx.updateDrawer(id, { text: theirs.text, metadata: theirs.metadata }));
  else fileBeside(merging, item);
}

function fileBeside(merging: Merging, { id, rows, text }: Item): void {
  const as = besideId(id, text);
  const isSplit = rows.length > 1 || rows[0]?.id !== id;
  const renamed = rows.map((row, index) => ({
    id: isSplit ? sliceId(as, index) : as,
    text: row.text,
    metadata: isSplit ? withParent(row.metadata, id, as) : row.metadata,
  }));
  merging.report.beside.push({ id, as });
  merging.add(rows.length, () => merging.tx.insertDrawers(renamed));
}

function withParent(metadata: Metadata, id: string, as: string): Metadata {
  const parents = ["parent_drawer_id", "parent_entry_id"].filter((key) => metadata[key] === id);
  return { ...metadata, ...Object.fromEntries(parents.map((key) => [key, as])) };
}

/** Returns ids of rows that an earlier import brought and that somebody has deleted since, except rows that an undo removed. */
function goneOf(tx: LedgerTx, absent: readonly Item[]): Set<string> {
  const came = tx.changedByMethod(
    IMPORT,
    absent.flatMap(({ rows }) => rows.map(({ id }) => id)),
  );
  return came.size === 0 ? came : came.difference(tx.lastChangedByMethod(UNDO, [...came]));
}

/** Returns the ids that add_drawer would give this text in the wing and room of the metadata. */
function idsOf(metadata: Metadata | undefined, text: string): readonly string[] {
  const { wing, room } = metadata ?? {};
  return typeof wing === "string" && typeof room === "string" ? drawerIds("v3", wing, room, text) : [];
}

function besideId(id: string, text: string): string {
  return `${id}_beside_${digestOf(text)}`;
}

function digestOf(text: string): string {
  return sha256Hex(text).slice(0, 12);
}
