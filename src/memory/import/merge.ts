/**
 * Merges another memory's rows into this one, one limited part per write. Each rule compares with this memory's present rows, so a part
 * that is sent again changes nothing. Runs inside the transaction on the writer thread. The preview runs the same rules without changes.
 */
import { isRecord, parseJson } from "../../base/parse-json.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { MODE_SEPARATOR } from "../port/source.ts";
import { badParams } from "../../base/errors.ts";
import {
  IMPORT_KINDS,
  type ImportedRow,
  type ImportItems,
  type ImportKind,
  type ImportPart,
  isCarriedEntry,
  isFlat,
  type MergeReport,
} from "../../protocol/import.ts";
import { IMPORT_ITEMS_MAX } from "../../protocol/limits.ts";
import { sha256Hex } from "../text/text.ts";
import { Merging } from "./merging.ts";
import { mergeDrawers } from "./drawers.ts";
import { mergeStandings } from "./outcomes.ts";
import { mergeJournal } from "./journal.ts";
import { mergeEntities, mergeFacts, mergeLinks } from "./graph.ts";

type Merge<K extends ImportKind> = (merging: Merging, items: readonly ImportItems[K][], from: string) => void;

const MERGES: { [K in ImportKind]: Merge<K> } = {
  drawer: mergeDrawers,
  standing: mergeStandings,
  closet: mergeClosets,
  source: mergeSources,
  entity: mergeEntities,
  triple: mergeFacts,
  tunnel: (merging, items) => mergeLinks(merging, "tunnel", items),
  hallway: (merging, items) => mergeLinks(merging, "hallway", items),
  carried: mergeCarried,
  journal: (merging, items, from) => mergeJournal(merging, from, items),
};

/** Reads the call's arguments. `journalled`: the arguments for the journal, without the texts of drawers. Errors: PROTOCOL_BAD_PARAMS. */
export function readPart({ from, kind, items }: Record<string, unknown>): {
  part: ImportPart;
  journalled: Record<string, unknown>;
} {
  if (typeof from !== "string") throw badParams("from must be a path");
  if (!IMPORT_KINDS.some((one) => one === kind)) throw badParams(`kind must be one of ${IMPORT_KINDS.join(", ")}`);
  if (!Array.isArray(items) || items.length > IMPORT_ITEMS_MAX)
    throw badParams(`items must be a list of at most ${IMPORT_ITEMS_MAX}`);
  const odd = items.findIndex((item) => !isItem(kind as ImportKind, item));
  if (odd >= 0) throw badParams(`item ${odd} is no ${String(kind)}`);
  return {
    part: { from, kind, items } as ImportPart,
    journalled: { from, kind, items: items.length, sha256: sha256Hex(JSON.stringify(items)) },
  };
}

/** Applies the write `memory.import`. */
export function importPart(tx: LedgerTx, { findings }: WriteCall): MergeReport {
  return merge(tx, findings as ImportPart, false);
}

export function previewImport(tx: LedgerTx, part: ImportPart): MergeReport {
  return merge(tx, part, true);
}

function merge(tx: LedgerTx, { from, kind, items }: ImportPart, isDry: boolean): MergeReport {
  const merging = new Merging(tx, isDry);
  (MERGES[kind] as Merge<ImportKind>)(merging, items, from);
  return merging.report;
}

/** Merges closets. If a source has closets in this memory, they stay, because they point at this memory's drawers. */
function mergeClosets(merging: Merging, items: readonly ImportItems["closet"][]): void {
  const { tx, report, isDry } = merging;
  for (const { sourceFile, closets } of items) {
    const missing = closets.filter(({ id }) => tx.closets.textOf(id) === undefined);
    const isOurs = sourceFile !== "" && tx.closets.count(sourceFile) > 0;
    if (missing.length === 0 || isOurs) {
      report.here += closets.length;
      continue;
    }
    // Drawers are imported before closets. If a source has no drawers in this memory, the rules left them out, so its closets would point
    // at nothing.
    const isPointless = !isDry && sourceFile !== "" && tx.placesOfSource(sourceFile).drawers === 0;
    if (isPointless) continue;
    report.here += closets.length - missing.length;
    merging.add(missing.length, () => {
      for (const { id, text, metadata } of missing) tx.closets.put({ id, text, metadata: metadata as never });
    });
  }
}

/** Merges entries of Roampal's graphs. The ledger keeps them unchanged for an export to Roampal. */
function mergeCarried(merging: Merging, items: readonly ImportItems["carried"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const ours = tx.carried.find(id);
    if (!isCarriedEntry({ at: parseJson(id), value: body }))
      merging.refuse(id, "it belongs to another version of palace-devbox");
    else if (ours === undefined) merging.add(1, () => tx.carried.put(id, body));
    else if (ours === body) report.here += 1;
    else report.kept.push(id);
  }
}

/** Merges the filing records of mined files. The next mining run reads a record to decide whether its file has changed. */
function mergeSources(merging: Merging, items: readonly ImportItems["source"][]): void {
  const { tx, report } = merging;
  for (const source of items) {
    const ours = tx.findSource(source.sourceFile);
    if (ours === undefined || ours.sha256 === "") merging.add(1, () => tx.putSource(source));
    else {
      report.here += 1;
      const isNewerHere = ours.sha256 !== source.sha256 && ours.mtime >= source.mtime;
      if (isNewerHere) report.keptSources.push(source.sourceFile.split(MODE_SEPARATOR)[0] ?? "");
    }
  }
}

function isItem(kind: ImportKind, item: unknown): boolean {
  if (!isRecord(item)) return false;
  const { id, rows, sourceFile, closets, body, wing, mtime, sha256, drawers } = item;
  const isText = (value: unknown): boolean => typeof value === "string";
  if (kind === "drawer") return isText(id) && id !== "" && Array.isArray(rows) && rows.length > 0 && rows.every(isRow);
  if (kind === "closet") return isText(sourceFile) && Array.isArray(closets) && closets.every(isRow);
  if (kind === "source")
    return [sourceFile, wing, sha256].every(isText) && [mtime, drawers].every((value) => Number.isFinite(value));
  return isText(id) && isText(body);
}

function isRow(value: unknown): value is ImportedRow {
  if (!isRecord(value)) return false;
  const { id, text, metadata } = value;
  return typeof id === "string" && id !== "" && typeof text === "string" && isFlat(metadata);
}
