/** Converts ledger rows between SQLite's form and the ports' form. */
import { hash } from "node:crypto";
import { isRecord } from "../../base/parse-json.ts";
import { type Drawer, type IdRecipe, isList, type Metadata, type Scalar } from "../port/drawer.ts";
import { readColumn } from "./json-column.ts";

/** The columns of a drawer's row that are read. */
export type DrawerRecord = Omit<Drawer, "metadata"> & { metadata: string };

export function toDrawer({ row, id, wing, room, text, metadata }: DrawerRecord): Drawer {
  return { row, id, wing, room, text, metadata: readColumn("drawer.metadata", metadata, isMetadata) };
}

export function isMetadata(value: unknown): value is Metadata {
  return isRecord(value);
}

const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** Returns the content's date as words, such as `8 May 2023 Monday`, so that "in May" finds the drawer; "" without a date. */
export function dateWords(metadata: Metadata): string {
  const date = metadata["content_date"] ?? metadata["date"];
  const match = typeof date === "string" ? /^(\d{4})-(\d{2})-(\d{2})/.exec(date) : null;
  if (match === null) return "";
  const time = new Date(`${match[1]}-${match[2]}-${match[3]}T00:00:00Z`);
  if (Number.isNaN(time.getTime())) return "";
  return `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]} ${time.getUTCFullYear()} ${DAYS[time.getUTCDay()]}`;
}

export function recipeOf(noted: string | undefined): IdRecipe {
  return noted === "bare" ? "bare" : "v3";
}

/** Returns the first and last possible id of a slice of `id`, so that one range of the id index has all slices. */
export function sliceBounds(id: string): [first: string, last: string] {
  return [`${id}_chunk_000000`, `${id}_chunk_999999`];
}

/** Returns the whole drawer's id. Use it only for a deleted row: an existing slice names its drawer in the metadata. */
export function wholeId(id: string): string {
  return id.replace(/_chunk_\d{6}$/, "");
}

/** Reads the metadata, because an unrelated drawer's id may begin with `id`, too (Source: upstream-latest.md 2.1). */
export function isSliceOf(id: string, { metadata }: Drawer): boolean {
  return metadata["parent_drawer_id"] === id || metadata["parent_entry_id"] === id;
}

/** SQL for the inode of the source's folder at filing time. */
export const DIRECTORY_ID = "CAST(json_extract(metadata, '$.source_dir_ino') AS TEXT)";
export const IS_REGISTRY =
  "(room = '_registry' OR id GLOB '_reg_*' OR json_extract(metadata, '$.ingest_mode') IS 'registry')";

/** Key that a palace stores in place of empty metadata (palace.md 4.6). */
const NO_METADATA = "_repaired_empty_meta";

/** Returns a drawer's digest, which is the same before and after it is stored: lone surrogates are replaced as by SQLite. */
export function drawerDigest({ text, metadata }: { text: string; metadata: Metadata }): string {
  return digest(`${JSON.stringify(metadata)}\n${text.toWellFormed()}`);
}

export function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22);
}

/** Returns true if two rows are the same once a palace has stored them. */
export function isSameRow(a: { text: string; metadata: Metadata }, b: { text: string; metadata: Metadata }): boolean {
  return a.text.toWellFormed() === b.text.toWellFormed() && canonical(a.metadata) === canonical(b.metadata);
}

/** Returns metadata as text. The texts are equal if a palace stores both metadata in the same way. */
export function canonical(metadata: Metadata): string {
  const entries = Object.entries(metadata)
    .filter(([key]) => key !== NO_METADATA)
    .map(([key, value]) => [key.toWellFormed(), isList(value) ? value.map(wellFormed) : wellFormed(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries);
}

function wellFormed(value: Scalar): Scalar {
  return typeof value === "string" ? value.toWellFormed() : value;
}

export function place(metadata: Metadata): { wing: string; room: string; sourceFile: string } {
  const text = (key: string, absent: string): string => {
    const value = metadata[key];
    return typeof value === "string" ? value : absent;
  };
  // Upstream counts a row without wing or room under "unknown" (Source: palace.md 2.5).
  return { wing: text("wing", "unknown"), room: text("room", "unknown"), sourceFile: text("source_file", "") };
}

/** Returns the vector's bytes without copying them. */
export function floatBytes({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Copies a BLOB into floats. A BLOB may start at any byte, but a Float32Array only at a multiple of four. */
export function toFloats(blob: Buffer): Float32Array {
  return new Float32Array(blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength));
}
