/** Parses JSON that may be malformed. */
import { readFileSync } from "node:fs";
import { orElse } from "./or-else.ts";

/** Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  return orElse(() => JSON.parse(text), undefined);
}

export function parseAs<T>(text: string, is: (value: unknown) => value is T): T | undefined {
  const value = parseJson(text);
  return is(value) ? value : undefined;
}

/** Parses a JSON object. Returns an empty object for any other text. */
export function parseRecord(text: string): Record<string, unknown> {
  return parseAs(text, isRecord) ?? {};
}

/** Reads a JSON object from a file. Returns an empty object if the file is missing, unreadable or contains something else. */
export function readRecord(file: string): Record<string, unknown> {
  return orElse(() => parseRecord(readFileSync(file, "utf8")), {});
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true if a JSON value has at most `most` levels. Check this before a recursive walk, to protect the stack. */
export function hasLevels(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return most > 0 && Object.values(value).every((one) => hasLevels(one, most - 1));
}
