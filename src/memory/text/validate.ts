/** Checks values as upstream does, with upstream's exact messages, which agents read (palace.md 2.6). */
import { badParams } from "../../base/errors.ts";
import { codePointLength, strip, wellFormed } from "./text.ts";

/** Upstream's ValueError. Each tool turns it into an answer, because its message is for the agent. */
export class InvalidValue extends Error {
  override readonly name = "ValueError";
}

/** Upstream's TypeError. Upstream does not turn it into an answer, unlike a ValueError. */
export class WrongType extends Error {
  override readonly name = "TypeError";
}

/** Returns the result of `read`, or a result with `error` if it throws InvalidValue. */
export function checked<T>(read: () => T): T | { success: false; error: string } {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidValue) return { success: false, error: error.message };
    throw error;
  }
}

/** Turns an invalid value into a PalaceError, because clients of our own methods check error codes instead of upstream's classes. */
export function asTyped(error: unknown): unknown {
  return error instanceof InvalidValue || error instanceof WrongType ? badParams(error.message) : error;
}

const NAME_MAX = 128;
const CONTENT_MAX = 100_000;
/** Maximum length of a source's name: the longest path on Linux. */
const SOURCE_FILTER_MAX = 4096;
const NAME_GRAMMAR = /^(?:[\p{L}\p{N}]|[\p{L}\p{N}][\p{L}\p{N}_ .'-]{0,126}[\p{L}\p{N}])$/u;

/** Checks a wing, room, topic or agent name. Trims it and keeps its case. */
export function validName(value: unknown, field: string): string {
  const name = typeof value === "string" ? strip(value) : "";
  if (name === "") throw new InvalidValue(`${field} must be a non-empty string`);
  if (codePointLength(name) > NAME_MAX)
    throw new InvalidValue(`${field} exceeds maximum length of ${NAME_MAX} characters`);
  if (/\.\.|[/\\]/.test(name)) throw new InvalidValue(`${field} contains invalid path characters`);
  if (name.includes("\0")) throw new InvalidValue(`${field} contains null bytes`);
  if (!NAME_GRAMMAR.test(name)) throw new InvalidValue(`${field} contains invalid characters`);
  return name;
}

/** Checks a subject, object or entity of a fact. Trims it and accepts all characters except NUL. */
export function validGraphValue(value: unknown, field: string): string {
  const text = typeof value === "string" ? strip(value) : "";
  if (text === "") throw new InvalidValue(`${field} must be a non-empty string`);
  if (codePointLength(text) > NAME_MAX)
    throw new InvalidValue(`${field} exceeds maximum length of ${NAME_MAX} characters`);
  if (text.includes("\0")) throw new InvalidValue(`${field} contains null bytes`);
  return wellFormed(text);
}

/** Checks a filter. An absent, null or blank value means no filter. */
export function validFilter(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new WrongType(`${field} must be a string`);
  return strip(value) === "" ? undefined : validName(value, field);
}

/** Checks the name of the source to which a search is limited. An absent, null or blank value means no limit. */
export function validSourceFilter(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new InvalidValue("source_file must be a string");
  const name = strip(value);
  if (name.includes("\0")) throw new InvalidValue("source_file contains null bytes");
  if (!name.isWellFormed()) throw new InvalidValue("source_file contains invalid surrogate characters");
  if (codePointLength(name) > SOURCE_FILTER_MAX)
    throw new InvalidValue(`source_file exceeds maximum length of ${SOURCE_FILTER_MAX} characters`);
  return name === "" ? undefined : name;
}

/** Checks the text of a drawer or diary entry, and replaces only lone surrogates. */
export function validContent(value: unknown, field = "content"): string {
  if (typeof value !== "string" || strip(value) === "") throw new InvalidValue(`${field} must be a non-empty string`);
  if (codePointLength(value) > CONTENT_MAX)
    throw new InvalidValue(`${field} exceeds maximum length of ${CONTENT_MAX} characters`);
  if (value.includes("\0")) throw new InvalidValue(`${field} contains null bytes`);
  return wellFormed(value);
}

/** Returns a text with lone surrogates replaced, or `absent` for any other value, as upstream does. */
export function looseText(value: unknown, absent: string): string {
  return typeof value === "string" ? wellFormed(value) : absent;
}

/** Turns any value into text, without calling an object's own conversion. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Reads a row limit: a whole number, clamped to 1…100. */
export function clampLimit(value: unknown, absent: number): number {
  return Math.max(1, Math.min(100, typeof value === "number" ? Math.trunc(value) : absent));
}
