/** The description of a backup: `manifest.json`, its first entry. Every field is checked, because the file may come from anywhere. */
import { isRecord } from "../../base/parse-json.ts";
import { PalaceError } from "../../base/errors.ts";
import { LEDGER, NAMES } from "./contents.ts";

export const MANIFEST = "manifest.json";
/** The archive's last entry: the SHA-256 of all bytes before this entry. */
export const SEAL = "seal.sha256";

export const MANIFEST_MAX_BYTES = 64 * 1024;
const SCHEMA = 1;
/** The latest date that ECMAScript can express. */
const TIME_MAX_MS = 8.64e15;

export type BackedUpFile = { name: string; size: number; sha256: string };

/** Tables of the ledger whose rows are counted, by the name of the count. */
export const LEDGER_COUNTS = {
  drawers: "drawer",
  vectors: "vector",
  closets: "closet",
  facts: "kg_triple",
  links: "link",
  sources: "source",
  journal: "journal",
} as const;
/** Like LEDGER_COUNTS, for the file of agents' events. */
export const EVENT_COUNTS = { events: "events", artifacts: "artifacts" } as const;

export type Counts = Record<keyof typeof LEDGER_COUNTS | keyof typeof EVENT_COUNTS, number>;

export type UnreadFile = { name: string; why: string };

export type Manifest = {
  kind: "palace-devbox backup";
  schema: number;
  version: string;
  madeAtMs: number;
  ledgerSchema: number;
  journalSeq: number;
  counts: Counts;
  /** Collections of the public palace that the ledger cannot rebuild. A backup does not contain them. */
  leftOut: string[];
  /** Files that could not be read, so the backup does not have them; undefined in older backups. */
  unreadable?: UnreadFile[];
  files: BackedUpFile[];
};

export type ManifestBody = Omit<Manifest, "kind" | "schema">;

export function formatManifest(body: ManifestBody): Buffer {
  const manifest: Manifest = { kind: "palace-devbox backup", schema: SCHEMA, ...body };
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Errors: STORE_CORRUPT; PROTOCOL_VERSION_MISMATCH for a manifest of a newer version. */
export function parseManifest(bytes: Buffer): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw damaged("its manifest is not JSON", cause);
  }
  if (!isRecord(value) || value["kind"] !== "palace-devbox backup") throw damaged("it is not a palace backup");
  if (typeof value["schema"] === "number" && value["schema"] > SCHEMA)
    throw new PalaceError(
      "PROTOCOL_VERSION_MISMATCH",
      `the backup was made by a newer palace-devbox (${String(value["version"]).slice(0, 40)})`,
      "update palace-devbox to the version that made it",
    );
  if (!isManifest(value)) throw damaged("its manifest is incomplete");
  return value;
}

export function damaged(why: string, cause?: unknown): PalaceError {
  return new PalaceError(
    "STORE_CORRUPT",
    `the backup cannot be used: ${why}`,
    "use another backup; to check one: palace backup verify FILE",
    { cause },
  );
}

function isManifest(value: Record<string, unknown>): value is Record<string, unknown> & Manifest {
  const { version, madeAtMs, ledgerSchema, journalSeq, counts, leftOut, unreadable = [], files } = value;
  if (typeof version !== "string" || ![madeAtMs, ledgerSchema, journalSeq].every(isCount)) return false;
  if ((madeAtMs as number) > TIME_MAX_MS) return false;
  if (!isRecord(counts) || !Object.values(counts).every(isCount)) return false;
  if (!Array.isArray(leftOut) || !leftOut.every((name) => typeof name === "string")) return false;
  if (!Array.isArray(unreadable) || !unreadable.every(isUnreadFile)) return false;
  if (!Array.isArray(files) || files.length === 0 || !files.every(isFile)) return false;
  const names = files.map(({ name }) => name);
  return new Set(names).size === names.length && names[0] === LEDGER;
}

function isUnreadFile(value: unknown): value is UnreadFile {
  return isRecord(value) && typeof value["name"] === "string" && typeof value["why"] === "string";
}

function isFile(value: unknown): value is BackedUpFile {
  if (!isRecord(value)) return false;
  const { name, size, sha256 } = value;
  return typeof name === "string" && NAMES.has(name) && isCount(size) && /^[0-9a-f]{64}$/.test(String(sha256));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
