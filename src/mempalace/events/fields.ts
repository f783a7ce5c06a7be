/** Checks the fields of events and artifacts, with the messages of upstream 3.11. Pure. */
import { isRecord } from "../../base/parse-json.ts";
import { codePointLength, compareText, pythonRepr, strip, wellFormed } from "../../memory/text/text.ts";
import { InvalidValue } from "../../memory/text/validate.ts";

const BODY_MAX_BYTES = 256 * 1024;
const ARTIFACT_MAX_BYTES = 4 * 1024 * 1024;
const METADATA_MAX_BYTES = 64 * 1024;
const ROUTING_MAX = 256;

const STATUSES = ["applied", "blocked", "claimed", "failed", "open", "ready", "superseded"];
const KINDS = ["file", "json", "log", "note", "patch"];
const EVENT_TYPE = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
const CONTROL = /[\0-\x1f\x7f]/;

/** Checks stream, room, agent and similar fields, and returns the trimmed value. */
export function routing(value: unknown, field: string): string {
  const text = typeof value === "string" ? wellFormed(strip(value)) : "";
  if (text === "") throw new InvalidValue(`${field} must be a non-empty string`);
  if (codePointLength(text) > ROUTING_MAX)
    throw new InvalidValue(`${field} exceeds maximum length of ${ROUTING_MAX} characters`);
  if (CONTROL.test(text)) throw new InvalidValue(`${field} contains control characters`);
  return text;
}

/** Checks an optional field: null and "" mean absent; white space alone is an error. */
export function optionalRouting(value: unknown, field: string): string | null {
  return value === undefined || value === null || value === "" ? null : routing(value, field);
}

export function eventType(value: unknown): string {
  const text = typeof value === "string" ? strip(value) : "";
  if (text === "") throw new InvalidValue("type must be a non-empty string");
  if (!EVENT_TYPE.test(text))
    throw new InvalidValue(
      `type=${reprOf(text)} is not a valid event type (lowercase letters, digits, '.', '_', '-'; max 64 chars)`,
    );
  return text;
}

export function status(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return null;
  return oneOf(value, "status", STATUSES);
}

export function kind(value: unknown): string {
  return oneOf(value, "kind", KINDS);
}

function oneOf(value: unknown, field: string, allowed: readonly string[]): string {
  if (typeof value === "string" && allowed.includes(value)) return value;
  throw new InvalidValue(`${field}=${reprOf(value)} is not one of: ${allowed.join(", ")}`);
}

export function body(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new InvalidValue("body must be a string");
  return verbatim(value, "body", BODY_MAX_BYTES);
}

export function artifactContent(value: unknown): string {
  if (typeof value !== "string" || value === "") throw new InvalidValue("content must be a non-empty string");
  return verbatim(value, "content", ARTIFACT_MAX_BYTES);
}

function verbatim(value: string, field: string, maxBytes: number): string {
  if (value.includes("\0")) throw new InvalidValue(`${field} contains null bytes`);
  const text = wellFormed(value);
  const size = Buffer.byteLength(text);
  if (size > maxBytes) throw new InvalidValue(`${field} is ${size} bytes; maximum is ${maxBytes} bytes`);
  return text;
}

/** Checks the metadata and sorts its keys, as upstream does. */
export function metadata(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw new InvalidValue("metadata must be an object");
  const sorted = inOrder(value) as Record<string, unknown>;
  if (Buffer.byteLength(jsonText(sorted)) > METADATA_MAX_BYTES)
    throw new InvalidValue(`metadata exceeds maximum size of ${METADATA_MAX_BYTES} bytes`);
  return sorted;
}

function inOrder(value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [wellFormed(key), inOrder(one)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => compareText(a, b)));
}

/** Writes JSON as Python does, with a space after `,` and `:`. Upstream's size limit is for this form. */
function jsonText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}: ${jsonText(one)}`)
    .join(", ")}}`;
}

export function artifactIds(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string" && one !== ""))
    throw new InvalidValue("artifact_ids must be a list of artifact id strings");
  return [...new Set(value as string[])];
}

/** Formats a value as Python's repr() does, for messages. */
export function reprOf(value: unknown): string {
  if (typeof value === "string") return pythonRepr(value);
  if (Array.isArray(value)) return `[${value.map(reprOf).join(", ")}]`;
  if (isRecord(value))
    return `{${Object.entries(value)
      .map(([key, one]) => `${pythonRepr(key)}: ${reprOf(one)}`)
      .join(", ")}}`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return value === null || value === undefined ? "None" : String(value);
}

export function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isRecord(value) ? Object.keys(value).length > 0 : Boolean(value);
}
