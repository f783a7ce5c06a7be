/** Merges another memory's rows into this one, part by part. Each rule compares both memories' rows, so a part may be sent twice. */
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
import type { Fact, LinkKind } from "../port/graph.ts";

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

/** Reads the call's arguments. `journalled`: what the journal stores of them, without the items' texts. Errors: PROTOCOL_BAD_PARAMS. */
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

/** Merges closets. Closets that a source has in this memory stay, because they point at this memory's drawers. */
function mergeClosets(merging: Merging, items: readonly ImportItems["closet"][]): void {
  const { tx, report, isDry } = merging;
  for (const { sourceFile, closets } of items) {
    const missing = closets.filter(({ id }) => tx.closets.textOf(id) === undefined);
    const isOurs = sourceFile !== "" && tx.closets.count(sourceFile) > 0;
    if (missing.length === 0 || isOurs) {
      report.here += closets.length;
      continue;
    }
    // Drawers are imported before closets. A source that now has no drawers was left out, so its closets would point at nothing.
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

/** Columns that the ledger writes: score, uses, successes, last use, last outcomes, and all outcomes with their sources. */
type StandingBody = [number, number, number, number | null, unknown[], unknown[][]?];

/**
 * Merges the outcomes of drawers. The scores of two memories cannot be added, because the weight of an outcome depends on the score before
 * it. The other memory's state wins only if it used the drawer last, and at least as often.
 */
function mergeStandings(merging: Merging, items: readonly ImportItems["standing"][]): void {
  const { tx, report, isDry } = merging;
  for (const { id, body } of items) {
    const theirs = readStanding(body);
    if (theirs === undefined) {
      merging.refuse(id, "its outcomes belong to another version of palace-devbox");
      continue;
    }
    // Drawers are imported before outcomes. If a drawer was left out, its outcomes are left out, too.
    if (!isDry && tx.findDrawer(id) === undefined) continue;
    const known = tx.standings.bodyOf(id);
    const ours = known === undefined ? undefined : readStanding(known);
    if (ours === undefined) merging.add(1, () => tx.standings.putBody(id, body));
    else if (known === body) report.here += 1;
    else if (isLater(theirs, ours)) merging.update(1, () => tx.standings.putBody(id, body));
    else report.kept.push(id);
  }
}

function isLater([, uses, , lastUsedMs]: StandingBody, [, usesHere, , lastUsedHereMs]: StandingBody): boolean {
  return (lastUsedMs ?? 0) > (lastUsedHereMs ?? 0) && uses >= usesHere;
}

function readStanding(json: string): StandingBody | undefined {
  const body = parseJson(json);
  if (!Array.isArray(body)) return undefined;
  const [score, uses, successes, lastUsedMs, past, scored = []] = body as unknown[];
  const isWhole =
    [score, successes].every(Number.isFinite) &&
    Number.isInteger(uses) &&
    (lastUsedMs === null || Number.isFinite(lastUsedMs)) &&
    [past, scored].every(Array.isArray) &&
    (scored as unknown[]).every(isOutcome);
  return isWhole ? (body as StandingBody) : undefined;
}

function isOutcome(one: unknown): boolean {
  if (!Array.isArray(one)) return false;
  const [atMs, outcome, source, weight, conversation, exchange, question = ["", "", []]] = one as unknown[];
  const isName = (value: unknown): boolean => value === null || typeof value === "string";
  if (!Number.isInteger(atMs) || !Number.isFinite(weight) || !Array.isArray(question)) return false;
  const [context, collection, concepts] = question as unknown[];
  return (
    [outcome, source, context, collection].every((value) => typeof value === "string") &&
    [conversation, exchange].every(isName) &&
    Array.isArray(concepts) &&
    concepts.every(Number.isInteger)
  );
}

const FACT_COLUMNS = 11;
const ENTITY_COLUMNS = 4;
const OTHER_VERSION = "its columns belong to another version of palace-devbox";

function mergeEntities(merging: Merging, items: readonly ImportItems["entity"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const columns = columnsIn(body, ENTITY_COLUMNS);
    if (tx.graph.bodyOf("entity", id) !== undefined) report.here += 1;
    else if (typeof columns?.[0] !== "string") merging.refuse(id, OTHER_VERSION);
    else merging.add(1, () => tx.graph.putBody("entity", id, body));
  }
}

/**
 * Merges facts. A fact's id contains the time at which the fact was made, so one fact has two ids in two memories, and `sameFact` compares
 * terms, start and end instead. A fact that either memory has ended is ended.
 */
function mergeFacts(merging: Merging, items: readonly ImportItems["triple"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const columns = columnsIn(body, FACT_COLUMNS);
    const [subject, predicate, object, from, to] = columns ?? [];
    if (typeof subject !== "string" || typeof predicate !== "string" || typeof object !== "string") {
      merging.refuse(id, OTHER_VERSION);
      continue;
    }
    const ours = sameFact(tx.graph.factsOf(subject, predicate, object), { id, from, to });
    if (ours === undefined) merging.add(1, () => tx.graph.putBody("triple", id, body));
    else if (ours.validTo === null && typeof to === "string") merging.update(1, () => tx.graph.endFact(ours.id, to));
    else if (ours.validFrom === from) report.here += 1;
    else report.kept.push(id);
  }
}

function sameFact(
  ours: readonly Fact[],
  { id, from, to }: { id: string; from: unknown; to: unknown },
): Fact | undefined {
  return (
    ours.find((fact) => fact.id === id) ??
    ours.find((fact) => fact.validFrom === from && fact.validTo === to) ??
    // Two facts with the same known start are one fact, even if one memory does not know its end.
    ours.find((fact) => from !== null && fact.validFrom === from && (fact.validTo === null || to === null)) ??
    // There is at most one open fact with the same terms.
    (to === null ? ours.find((fact) => fact.validTo === null) : undefined)
  );
}

function mergeLinks(merging: Merging, kind: LinkKind, items: readonly ImportItems["tunnel"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const ours = tx.graph.bodyOf(kind, id);
    if (ours === body) report.here += 1;
    else if (ours !== undefined) report.kept.push(id);
    else if (!isRecord(parseJson(body))) merging.refuse(id, OTHER_VERSION);
    else merging.add(1, () => tx.graph.putBody(kind, id, body));
  }
}

function columnsIn(body: string, count: number): unknown[] | undefined {
  const columns = parseJson(body);
  const isCell = (value: unknown): boolean => value === null || ["string", "number"].includes(typeof value);
  return Array.isArray(columns) && columns.length === count && columns.every(isCell) ? columns : undefined;
}

const JOURNAL_ID = /^\d{1,15} ./su;
const JOURNAL_COLUMNS = 13;
/** Indexes of the columns of a journal row that have numbers. The number at `CLAIMED` is a time that may be missing. */
const NUMBERS = [1, 7, 8];
const CLAIMED = 2;

/**
 * Merges the journal. A write has the same key and time in both memories, so a row that this memory wrote itself or imported before is not
 * added again. Rows older than this memory's retention are not added.
 */
function mergeJournal(merging: Merging, from: string, items: readonly ImportItems["journal"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const columns = readRow(id, body);
    if (columns === undefined) merging.refuse(id, OTHER_VERSION);
    else if (tx.imported.has(id)) report.here += 1;
    else if (Number.parseInt(id, 10) >= tx.imported.keptFromMs)
      merging.add(1, () => tx.imported.put(id, JSON.stringify([columns[0] ?? from, ...columns.slice(1)])));
  }
}

function readRow(id: string, body: string): unknown[] | undefined {
  const columns = parseJson(body);
  if (!JOURNAL_ID.test(id) || !Array.isArray(columns) || columns.length !== JOURNAL_COLUMNS) return undefined;
  const isWhole = columns.every((value, at) => {
    if (NUMBERS.includes(at)) return Number.isSafeInteger(value);
    if (at === CLAIMED) return value === null || Number.isSafeInteger(value);
    return typeof value === "string" || (at === 0 && value === null);
  });
  if (!isWhole) return undefined;
  const [asked, answer, drawers] = columns.slice(-3).map((text) => parseJson(String(text)));
  const areIds = Array.isArray(drawers) && drawers.every((one) => typeof one === "string");
  return isRecord(asked) && answer !== undefined && areIds ? (columns as unknown[]) : undefined;
}
