/** Requests and answers of `palace import`, which merges another memory into the running one, and what both sides ask of a row. */
import { isRecord } from "../base/is-record.ts";
import { hasLevels } from "../base/json-depth.ts";
import { parseJson } from "../base/parse-json.ts";
import { MINED_KEYS } from "./filing.ts";
import { CARRIED_LEVELS_MAX } from "./limits.ts";
import { CARRIED_GRAPHS, type CarriedEntry } from "./outcome.ts";

/** Kinds of rows, as the ledger and its before-images name them. */
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

/** One item of each kind. */
export type ImportItems = {
  /** A drawer with the id it was given out under: one row, or the slices of a long text in the order of the text. */
  drawer: { id: string; rows: readonly ImportedRow[] };
  /** The outcomes of a drawer. `body`: its score and its outcomes as a JSON array. */
  standing: { id: string; body: string };
  /** All closets of one source; those without a source have the name "". */
  closet: { sourceFile: string; closets: readonly ImportedRow[] };
  /** The filing record of a mined file. */
  source: { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };
  /** `body`: the columns as a JSON array. */
  entity: { id: string; body: string };
  triple: { id: string; body: string };
  /** `body`: the record as JSON. */
  tunnel: { id: string; body: string };
  hallway: { id: string; body: string };
  /** An entry of a Roampal's graphs. `body`: its value as JSON. */
  carried: { id: string; body: string };
  /** A write. `id`: its time and its key; `body`: the other columns as a JSON array. */
  journal: { id: string; body: string };
};

/** `from`: the path that the user named; the journal keeps it. */
export type ImportPart = {
  [K in ImportKind]: { from: string; kind: K; items: readonly ImportItems[K][] };
}[ImportKind];

/** Says what became of a part, or would become of it. Counts are rows; a drawer in slices has several. */
export type MergeReport = {
  added: number;
  /** Rows here that the other memory has in a newer state. */
  updated: number;
  /** Rows that are here already. */
  here: number;
  /** Ids of drawers, facts and links that differ here and stay as they are here. */
  kept: string[];
  /** Mined files that are filed here in another version: none of their rows are taken. */
  keptSources: string[];
  /** Ids of drawers that an earlier import brought and that were deleted here since. */
  gone: string[];
  /** Drawers that were changed on both sides: the other text is filed beside ours under an id of its own. */
  beside: { id: string; as: string }[];
  refused: { id: string; why: string }[];
};

/** The file that a miner made the drawer from; undefined for a note, also for one that names a file. */
export function minedFrom(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { source_file: file } = metadata;
  const isMined = MINED_KEYS.some((key) => metadata[key] !== undefined);
  return isMined && typeof file === "string" && file !== "" ? file : undefined;
}

/** True for metadata that a drawer can have: texts, numbers, true and false, and lists of these. */
export function isFlat(metadata: unknown): metadata is ImportedRow["metadata"] {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return false;
  const isScalar = (value: unknown): boolean =>
    typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  return Object.values(metadata).every((value) => (Array.isArray(value) ? value.every(isScalar) : isScalar(value)));
}

/** True for an entry of a Roampal's graph: a file, a section and a name, and a value as JSON. */
export function isCarriedEntry(value: unknown): value is CarriedEntry {
  const { at, value: json } = isRecord(value) ? value : {};
  if (!Array.isArray(at) || at.length > 3 || !at.every((one) => typeof one === "string")) return false;
  if (!CARRIED_GRAPHS.some((file) => file === at[0]) || typeof json !== "string") return false;
  const entry = parseJson(json);
  return entry !== undefined && hasLevels(entry, CARRIED_LEVELS_MAX);
}
