/** Wire types of `palace import`, which merges another memory into the running one, and checks of imported rows. */
import { hasLevels, isRecord, parseJson } from "../base/parse-json.ts";
import { MINED_KEYS } from "./filing.ts";
import { CARRIED_LEVELS_MAX } from "./limits.ts";
import { CARRIED_GRAPHS, type CarriedEntry } from "./outcome.ts";

/** Kinds of imported rows. The ledger stores these names with its before-images. */
export const IMPORT_KINDS = [
  "drawer",
  "standing",
  "closet",
  "source",
  "entity",
  "triple",
  "tunnel",
  "hallway",
  "carried",
  "journal",
] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

export type ImportedRow = {
  id: string;
  text: string;
  metadata: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
};

export type ImportItems = {
  /** Drawer with its public id. A long text has several rows: its slices in order. */
  drawer: { id: string; rows: readonly ImportedRow[] };
  /** `body`: a drawer's score and outcomes as a JSON array. */
  standing: { id: string; body: string };
  /** All closets of one source. `sourceFile` is "" for closets without a source. */
  closet: { sourceFile: string; closets: readonly ImportedRow[] };
  source: { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };
  /** `body`: the entity's columns as a JSON array. */
  entity: { id: string; body: string };
  triple: { id: string; body: string };
  /** `body`: the tunnel's record as JSON. */
  tunnel: { id: string; body: string };
  hallway: { id: string; body: string };
  /** Entry imported from Roampal's graphs. `body`: the entry's value as JSON. */
  carried: { id: string; body: string };
  /** Write in the journal. `id`: its time and key. `body`: the other columns as a JSON array. */
  journal: { id: string; body: string };
};

/** Part of an import. `from`: path of the other memory as the user gave it, for the journal. */
export type ImportPart = {
  [K in ImportKind]: { from: string; kind: K; items: readonly ImportItems[K][] };
}[ImportKind];

/** Result of merging a part, or of its preview. The counts are of rows; a drawer with slices has several rows. */
export type MergeReport = {
  added: number;
  /** Number of rows that are newer in the other memory. */
  updated: number;
  /** Number of rows that already exist in this memory. */
  here: number;
  /** Ids of drawers, facts and links that differ in the two memories. The merge keeps this memory's version. */
  kept: string[];
  /** Mined files of which this memory has another version. The merge skips all their rows. */
  keptSources: string[];
  /** Ids of drawers that an earlier import added and that were then deleted from this memory. The merge does not add them again. */
  gone: string[];
  /** Drawers that changed in both memories. The merge files the other memory's text as well, under the new id `as`. */
  beside: { id: string; as: string }[];
  refused: { id: string; why: string }[];
};

/** Returns the file from which a miner made the drawer. Returns undefined for any other drawer, even if it has a `source_file`. */
export function minedFrom(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { source_file: file } = metadata;
  const isMined = MINED_KEYS.some((key) => metadata[key] !== undefined);
  return isMined && typeof file === "string" && file !== "" ? file : undefined;
}

export function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/** Returns true if each value is a string, number or boolean, or a list of these. */
export function isFlat(metadata: unknown): metadata is ImportedRow["metadata"] {
  return isRecord(metadata) && Object.values(metadata).every((value) => [value].flat().every(isScalar));
}

/** Returns true for a valid CarriedEntry, whose JSON has at most CARRIED_LEVELS_MAX levels. */
export function isCarriedEntry(value: unknown): value is CarriedEntry {
  const { at, value: json } = isRecord(value) ? value : {};
  if (!Array.isArray(at) || at.length > 3 || !at.every((one) => typeof one === "string")) return false;
  if (!CARRIED_GRAPHS.some((file) => file === at[0]) || typeof json !== "string") return false;
  const entry = parseJson(json);
  return entry !== undefined && hasLevels(entry, CARRIED_LEVELS_MAX);
}
