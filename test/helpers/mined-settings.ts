/** Settings in MemPalace's config.json and texts whose filing depends on them, for tests that compare our miners with MemPalace's. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Row } from "./mined-rows.ts";

/** Hall keywords with edge cases: capitals, letters outside ASCII, one word in two halls, an empty hall, a text instead of a list. */
export const HALLS = {
  weather: ["Storm", "storm", "naïve", "日本", "über", "lock"],
  locks: ["lock", "lock", "deadlock"],
  empty: [],
  letters: "zq",
  "two words": ["the lock", "e.g."],
};
export const WORDS = [
  "STORM",
  "storm",
  "Naïve",
  "日本語",
  "ÜBER",
  "deadlock",
  "the LOCK",
  "zebra",
  "quiz",
  "e.g.",
  "database",
];

/** Writes `settings` into MemPalace's config.json in both homes. */
export function configure(both: readonly string[], settings: unknown): void {
  for (const home of both) {
    mkdirSync(join(home, ".mempalace"), { recursive: true });
    writeFileSync(join(home, ".mempalace/config.json"), JSON.stringify(settings));
  }
}

export function put(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Returns the fields of a drawer that settings decide, or that show its origin. */
export function filed({ text, metadata }: Row, withEntities = true): unknown {
  const {
    hall,
    room,
    wing,
    entities,
    source_file: file,
    chunk_index: index,
    line_start: from,
    line_end: to,
  } = metadata;
  return { text, hall, room, wing, file, index, from, to, ...(withEntities && { entities }) };
}
