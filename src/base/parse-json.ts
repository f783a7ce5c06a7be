/** Parses JSON from other programs, and from files that a person may have changed. */
import { readFileSync } from "node:fs";
import { isRecord } from "./is-record.ts";

/** Returns the parsed text, or undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON of the shape that `is` checks. Returns undefined for any other text. */
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
  try {
    return parseRecord(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}
