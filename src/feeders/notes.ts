/** Reads and writes a miner's notes: the state of each source when it was filed. Without notes, the next run only reads more. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { isRecord, parseJson } from "../base/parse-json.ts";
import type { FilingRecord } from "../protocol/filing.ts";
import { MTIME_TOLERANCE_S } from "./mined.ts";
import { orElse } from "../base/or-else.ts";

/** State of a source when it was filed. */
export type NotedSource = {
  mtime: number;
  size: number;
  /** Digest of the source in the palace; "" if the source is not filed. */
  sha256: string;
  drawers: number;
  /** Why the source is not filed; absent if it is filed. */
  refused?: string;
};

export function readText(file: string): string | undefined {
  return orElse(() => readFileSync(file, "utf8"), undefined);
}

/** Returns undefined for a missing, unreadable or damaged file. */
export function readJson(file: string): unknown {
  return parseJson(readText(file) ?? "");
}

/** Returns a miner's notes; undefined if they are missing or damaged. `list`: the field with the sources. */
export function readNotes<Notes>(file: string, list: keyof Notes & string): Notes | undefined {
  const found = readJson(file);
  return isRecord(found) && found["schema"] === 1 && isRecord(found[list]) ? (found as Notes) : undefined;
}

export function writeNotes(file: string, notes: object): void {
  const content = `${JSON.stringify(notes)}\n`;
  if (readText(file) === content) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileAtomic(file, content);
}

/** Returns the entry with this name. A plain index would find inherited properties for names such as `constructor`. */
export function ofName<Entry>(entries: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

export function isAsNoted(found: { mtime: number; size: number }, noted: NotedSource): boolean {
  return noted.size === found.size && Math.abs(noted.mtime - found.mtime) <= MTIME_TOLERANCE_S;
}

/** Returns filing records as the last run noted them, for a run without a broker. */
export function notedRecords(
  files: Readonly<Record<string, NotedSource | null>>,
  sourceFileOf: (name: string) => string,
): Map<string, FilingRecord> {
  return new Map(
    Object.entries(files).flatMap(([name, noted]) => {
      if (noted === null || noted.refused !== undefined) return [];
      const { mtime, sha256, drawers } = noted;
      return [[name, { sourceFile: sourceFileOf(name), mtime, sha256, drawers }] as const];
    }),
  );
}
