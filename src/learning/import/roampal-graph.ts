/** Stores Roampal's graphs, only to export them again (outcome-memory.md 4.2, 8.1–8.7). Repeating an import adds nothing. */
import { isCarriedEntry } from "../../protocol/import.ts";
import { parseJson } from "../../base/parse-json.ts";
import type { LedgerReader, WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import { badParams } from "../../base/errors.ts";
import { CARRIED_ENTRIES_MAX, CARRIED_LEVELS_MAX, CARRIED_PART_MAX_BYTES } from "../../protocol/limits.ts";
import { CARRIED_GRAPHS, type CarriedEntry, type GraphPage, type GraphReport } from "../../protocol/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";
import { toCarried } from "./roampal-memory.ts";

/** Matches a memory's id in JSON: a whole string, or a part of a string that `::` separates. */
const NAMED = /(?<=(?<!\\)"|::)(?:working|history|patterns|memory_bank)_[0-9a-f]{8}(?="|::)/g;

/** Checks the entries. `journalled`: parameters for the journal, with a digest of the entries. Errors: PROTOCOL_BAD_PARAMS. */
export function carriedEntries({ entries, isDry }: Record<string, unknown>): {
  entries: CarriedEntry[];
  journalled: Record<string, unknown>;
} {
  if (typeof isDry !== "boolean") throw badParams("isDry must be true or false");
  if (!Array.isArray(entries) || entries.length > CARRIED_ENTRIES_MAX || !entries.every(isCarriedEntry))
    throw badParams(
      `entries must be a list of at most ${CARRIED_ENTRIES_MAX}, each a file of ${CARRIED_GRAPHS.join(", ")} with section and name, and JSON of at most ${CARRIED_LEVELS_MAX} levels`,
    );
  return { entries, journalled: { entries: entries.length, sha256: sha256Hex(JSON.stringify(entries)), isDry } };
}

/** Stores imported entries. Only another import can change them. */
export function importGraph(tx: MemoryTx, { params, findings }: WriteCall): GraphReport {
  const report: GraphReport = { added: 0, updated: 0 };
  for (const { at, value } of findings as CarriedEntry[]) {
    const id = JSON.stringify(at);
    const there = tx.carried.find(id);
    if (there === value) continue;
    report[there === undefined ? "added" : "updated"] += 1;
    if (params["isDry"] !== true) tx.carried.put(id, value);
  }
  return report;
}

/** Returns the entries after the id `after`. Replaces the id of a moved memory by the id with which the memory is exported. */
export function graphPage(reader: LedgerReader, after: string): GraphPage {
  const rows = reader.carriedAfter(after, CARRIED_ENTRIES_MAX, CARRIED_PART_MAX_BYTES);
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const known = names.get(id);
    if (known !== undefined) return known;
    const drawer = reader.findDrawer(id);
    const name = (drawer && toCarried(drawer, undefined)?.id) ?? id;
    names.set(id, name);
    return name;
  };
  const renamed = (json: string): string => json.replace(NAMED, nameOf);
  const entries = rows.map(({ id, value }) => {
    const now = renamed(id);
    // If another entry already has the new name, this entry keeps its old name, and both entries are exported.
    const isTaken = now !== id && reader.isCarried(now);
    return { at: placeOf(isTaken ? id : now), value: renamed(value) };
  });
  return { entries, next: rows.at(-1)?.id ?? null };
}

export function fileOfEntry(id: string): string {
  return placeOf(id)[0] ?? "";
}

function placeOf(id: string): string[] {
  const at = parseJson(id);
  return Array.isArray(at) ? at.map(String) : [id];
}
