/** Tells whether upstream's settings may be copied between machines: settings that name a path of one machine are wrong on another. */
import { readFileSync } from "node:fs";
import { isRecord } from "../../base/is-record.ts";

export const CONFIG = "config.json";
/** Keys that choose the palace's folder and its collection. */
const PLACES = ["palace_path", "collection_name"];

/** Returns true if that config.json is an object that names neither palace nor collection; false for any other file. */
export function namesNoPlace(file: string): boolean {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(value) && !PLACES.some((key) => key in value);
  } catch {
    return false;
  }
}
