/** Fields of the API's requests: their types and limits, and the error for a bad field. */
import { isRecord } from "../../base/parse-json.ts";

/** `low` and `high` limit a number, the characters of a text, or the entries of a list. Null counts as absent. */
export type Field = Readonly<{
  type: "text" | "integer" | "number" | "yes or no" | "texts" | "object";
  low?: number;
  high?: number;
  oneOf?: readonly string[];
  isRequired?: true;
}>;
export type Fields = Readonly<Record<string, Field>>;
export type Values = Readonly<Record<string, unknown>>;

/** One error, in FastAPI's words. */
export type Wrong = { loc: ["body", ...string[]]; msg: string; type: "missing" | "value_error" };

/** Checks a request's body and returns the values of its fields, or all errors. Ignores unknown fields. */
export function checkFields(fields: Fields, given: unknown): { values: Values } | { wrong: Wrong[] } {
  if (!isRecord(given)) return { wrong: [{ loc: ["body"], msg: "must be a JSON object", type: "value_error" }] };
  const known = Object.entries(fields).flatMap(([name, field]) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    return value === undefined || value === null ? [] : [{ name, field, value }];
  });
  const names = new Set(known.map(({ name }) => name));
  const missing = Object.keys(fields).filter((name) => fields[name]?.isRequired === true && !names.has(name));
  const wrong: Wrong[] = [
    ...missing.map((name): Wrong => ({ loc: ["body", name], msg: "Field required", type: "missing" })),
    ...known.flatMap(({ name, field, value }): Wrong[] => {
      const msg = problem(field, value);
      return msg === undefined ? [] : [{ loc: ["body", name], msg, type: "value_error" }];
    }),
  ];
  return wrong.length > 0 ? { wrong } : { values: Object.fromEntries(known.map(({ name, value }) => [name, value])) };
}

function problem({ type, low, high, oneOf }: Field, value: unknown): string | undefined {
  const size = sizeOf(type, value);
  if (size === undefined) return `must be ${NOUNS[type]}`;
  if (oneOf?.includes(String(value)) === false) return `must be one of ${oneOf.join(", ")}`;
  if (low !== undefined && size < low) return `must be at least ${low}`;
  if (high !== undefined && size > high)
    return type === "text" ? `must have at most ${high} characters` : `must be at most ${high}`;
  return undefined;
}

const NOUNS = {
  text: "a string",
  integer: "a whole number",
  number: "a number",
  "yes or no": "true or false",
  texts: "a list of strings",
  object: "an object",
} as const satisfies Record<Field["type"], string>;

/** Returns the size that `low` and `high` limit; undefined if the value does not have the type. */
function sizeOf(type: Field["type"], value: unknown): number | undefined {
  if (type === "text") return typeof value === "string" ? value.length : undefined;
  if (type === "number") return typeof value === "number" ? value : undefined;
  if (type === "integer") return typeof value === "number" && Number.isInteger(value) ? value : undefined;
  if (type === "yes or no") return typeof value === "boolean" ? 0 : undefined;
  if (type === "object") return isRecord(value) ? Object.keys(value).length : undefined;
  const isList = Array.isArray(value) && value.every((one) => typeof one === "string");
  return isList ? value.length : undefined;
}
