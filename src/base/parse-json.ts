/** Reads JSON that may be anything: texts and files of other programs, or of ours that somebody has changed. */
import { readFileSync } from "node:fs";
import { isRecord } from "./is-record.ts";

/** Reads a text that should be JSON and may be anything. Undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a text that should be JSON of the shape that `is` tests. Undefined for any other text. */
export function parseAs<T>(text: string, is: (value: unknown) => value is T): T | undefined {
  const value = parseJson(text);
  return is(value) ? value : undefined;
}

/** Reads a text that should be a JSON object. Returns an empty object for any other text. */
export function parseRecord(text: string): Record<string, unknown> {
  return parseAs(text, isRecord) ?? {};
}

/** Reads a file that should hold a JSON object. Returns an empty object for a file that is missing, unreadable or other. */
export function readRecord(file: string): Record<string, unknown> {
  try {
    return parseRecord(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}
