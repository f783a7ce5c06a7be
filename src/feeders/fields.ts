/** Reads fields of other programs' JSON. A value of an unexpected type counts as empty. Pure. */
import { isRecord } from "../base/parse-json.ts";

export type Fields = Record<string, unknown>;

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}
