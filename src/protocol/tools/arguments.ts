/** Checks and converts the arguments of a `tools/call`. Checks and messages are in upstream's order and words (palace.md 2.3). */
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import { RPC, type RpcError } from "../spec.ts";
import type { Tool } from "./table.ts";

/** Parameter that every tool accepts and ignores. */
const IGNORED = "wait_for_previous";

const NAMES_MAX = 20;

export type CheckedArguments = { ok: true; values: Record<string, unknown> } | { ok: false; error: RpcError };

export function checkArguments(tool: Tool, given: unknown): CheckedArguments {
  const { fullName, surface, properties, aliases = {}, required, requiredEither = [] } = tool;
  const values = isRecord(given) ? { ...given } : {};
  delete values[IGNORED];

  // Newer Roampal clients send further parameters. Missing parameters are reported later, with Roampal's messages.
  const isLenient = surface === "outcome";
  const unknown = Object.keys(values).filter((key) => !Object.hasOwn(properties, key) && !Object.hasOwn(aliases, key));
  if (unknown.length > 0 && !isLenient) return invalid(`Unknown ${plural("parameter", unknown)} for tool ${fullName}`);

  for (const [key, value] of Object.entries(values)) {
    const type = properties[key]?.type;
    if (type !== "integer" && type !== "number") continue;
    const number = toNumber(value, type);
    if (number === undefined && !isLenient) return invalid(`Invalid value for parameter '${key}'`);
    values[key] = number ?? value;
  }

  for (const [alias, key] of Object.entries(aliases)) {
    // An empty string under the proper name hides the alias; null does not.
    if (Object.hasOwn(values, alias)) values[key] ??= values[alias];
    delete values[alias];
  }
  const missing = [...required, ...requiredEither].filter((key) => !Object.hasOwn(values, key));
  if (missing.length > 0 && !isLenient)
    return invalid(`Missing required ${plural("parameter", missing)} for tool ${fullName}`);
  return { ok: true, values };
}

/** Converts like Python's int() and float(): "5" and 5.0 become 5, true becomes 1. Returns undefined for null and "x". */
function toNumber(value: unknown, type: "integer" | "number"): number | undefined {
  if (typeof value === "boolean") return value ? 1 : 0;
  // `JSON.parse` returns Infinity for 1e999.
  if (typeof value === "number" && !Number.isFinite(value)) return undefined;
  if (typeof value === "number") return type === "integer" ? Math.trunc(value) : value;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const number = Number(value.replaceAll("_", ""));
  if (!Number.isFinite(number)) return undefined;
  return type === "number" || /^\s*[+-]?[\d_]+\s*$/.test(value) ? number : undefined;
}

function plural(noun: string, names: readonly string[]): string {
  const named = names.slice(0, NAMES_MAX).map((name) => `'${cut(name)}'`);
  const more = names.length > NAMES_MAX ? [`${names.length - NAMES_MAX} more`] : [];
  return `${noun}${names.length > 1 ? "s" : ""} ${[...named, ...more].join(", ")}`;
}

function invalid(message: string): CheckedArguments {
  return { ok: false, error: { code: RPC.INVALID_PARAMS, message } };
}
