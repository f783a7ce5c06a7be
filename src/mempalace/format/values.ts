/** Converts metadata to Chroma's form: each value in the column of its type, and as JSON in the queue. */
import type { Scalar } from "../../memory/port/drawer.ts";
import { DOCUMENT_KEY } from "./queue.ts";

export type Column = "string_value" | "int_value" | "float_value" | "bool_value";
/** Value with its type in Chroma. `json`: its form in the queue, where `.0` marks a whole floating-point number. */
export type TypedValue = { key: string; column: Column; value: string | number | bigint; json: string };
/** List with its values, which Chroma stores in a separate table. */
export type TypedList = { key: string; values: readonly TypedValue[]; json: string };

/** Keys whose values are floating point even when they are whole (palace.md 4.7). */
const FLOAT_KEYS: ReadonlySet<string> = new Set(["source_mtime"]);

/** Converts a list. If one number has a fraction, all numbers become floating point. `before`: column of the key's present values. */
export function typedList(key: string, list: readonly Scalar[], before: Column | undefined): TypedList {
  const isFloat = list.some((value) => typeof value === "number" && !Number.isSafeInteger(value));
  const values = list.map((value) => typedValue(key, value, isFloat ? "float_value" : before));
  return { key, values, json: `[${values.map(({ json }) => json).join()}]` };
}

/** Converts a value. A floating-point number stays one, even if the new value is whole. `before`: column of the key's present value. */
export function typedValue(key: string, value: Scalar, before: Column | undefined): TypedValue {
  if (typeof value === "string") {
    const text = value.toWellFormed();
    return { key, column: "string_value", value: text, json: JSON.stringify(text) };
  }
  if (typeof value === "boolean") return { key, column: "bool_value", value: value ? 1 : 0, json: String(value) };
  const isFloat = !Number.isSafeInteger(value) || FLOAT_KEYS.has(key) || before === "float_value";
  if (!isFloat) return { key, column: "int_value", value: BigInt(value), json: String(BigInt(value)) };
  const json = JSON.stringify(value);
  return { key, column: "float_value", value, json: /^-?\d+$/.test(json) ? `${json}.0` : json };
}

/** Returns the queue's text for a row: its values, its document, and null for each key that the row no longer has. */
export function queueJson(
  text: string,
  values: readonly Pick<TypedValue, "key" | "json">[],
  removed: readonly string[],
): string {
  const entries = [
    ...values.map(({ key, json }) => `${JSON.stringify(key)}:${json}`),
    ...removed.map((key) => `${JSON.stringify(key)}:null`),
    `${JSON.stringify(DOCUMENT_KEY)}:${JSON.stringify(text)}`,
  ];
  return `{${entries.join()}}`;
}
