/** Decides whether upstream's settings may be copied to another machine: a path of one machine is wrong on another. */
import { readFileSync } from "node:fs";
import { isRecord } from "../../base/parse-json.ts";

export const CONFIG = "config.json";
/** Keys that choose the palace's folder and its collection. */
const PLACES = ["palace_path", "collection_name"];

/** Returns false if config.json names a palace or a collection, or is not a JSON object. */
export function namesNoPlace(file: string): boolean {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(value) && !PLACES.some((key) => key in value);
  } catch {
    return false;
  }
}
