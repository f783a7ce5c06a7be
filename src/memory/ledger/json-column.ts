/** Reads JSON from the ledger's columns. Only the ledger writes them, so other text means that the file is damaged. */
import { parseAs, parseJson } from "../../base/parse-json.ts";
import { PalaceError } from "../../base/errors.ts";

export const RESTORE_HINT =
  "palace backup restore FILE puts a backup in its place; or move the file away, or name another palace with --palace DIR";

/** Parses JSON of the shape `is`. `column`: "table.column", for the message. Errors: STORE_CORRUPT for any other text. */
export function readColumn<T>(column: string, json: string, is: (value: unknown) => value is T): T {
  return parseAs(json, is) ?? damaged(column);
}

/** Works like readColumn, for JSON of any shape. */
export function readAnyColumn(column: string, json: string): unknown {
  const value = parseJson(json);
  return value === undefined ? damaged(column) : value;
}

function damaged(column: string): never {
  throw new PalaceError("STORE_CORRUPT", `${column} of the ledger is damaged; it was left as it is`, RESTORE_HINT);
}

export function isColumns(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

export function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}
