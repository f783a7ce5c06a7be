/**
 * Merges the journal: who wrote what, and when. A write has the same key and time in both memories, so a row that this memory wrote itself
 * or imported before is not added again. Rows older than this memory's retention are not added.
 */
import type { ImportItems } from "../../protocol/import.ts";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import type { Merging } from "./merging.ts";

const ID = /^\d{1,15} ./su;
const COLUMNS = 13;
/** Indexes of the columns with numbers. The second one is a time that may be missing. */
const NUMBERS = [1, 7, 8];
const CLAIMED = 2;

export function mergeJournal(merging: Merging, from: string, items: readonly ImportItems["journal"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const columns = read(id, body);
    if (columns === undefined) merging.refuse(id, "its columns belong to another version of palace-devbox");
    else if (tx.imported.has(id)) report.here += 1;
    else if (Number.parseInt(id, 10) >= tx.imported.keptFromMs)
      merging.add(1, () => tx.imported.put(id, JSON.stringify([columns[0] ?? from, ...columns.slice(1)])));
  }
}

function read(id: string, body: string): unknown[] | undefined {
  const columns = parseJson(body);
  if (!ID.test(id) || !Array.isArray(columns) || columns.length !== COLUMNS) return undefined;
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
