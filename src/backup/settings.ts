/** Upstream's settings: what they say of this machine is no part of a memory, and one from elsewhere would say it of another. */
import { readFileSync } from "node:fs";
import { isRecord } from "../platform/is-record.ts";

export const CONFIG = "config.json";
/** Which palace is opened, and what of it. */
const PLACES = ["palace_path", "collection_name"];

/** Whether that config.json names no place. What is no JSON is not looked into by anybody, and says nothing. */
export function namesNoPlace(file: string): boolean {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(value) && !PLACES.some((key) => key in value);
  } catch {
    return false;
  }
}
