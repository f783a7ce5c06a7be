/** Finds the exchanges that a forked or resumed session copied from the beginning of another, so that they are filed once. */
import { createHash } from "node:crypto";
import type { FilingRecord } from "../../protocol/filing.ts";
import type { Entry, Exchanges } from "./notes.ts";

/** Returns a digest of each drawer's time and text; "" without a time, because equal texts alone do not show that one is a copy. */
export function digestsOf(texts: readonly string[], times: readonly (string | null)[] | undefined): string[] {
  return texts.map((text, at) => {
    const time = times?.[at] ?? null;
    return time === null ? "" : createHash("sha256").update(`${time}\n${text}`).digest("base64url").slice(0, 16);
  });
}

/** Returns how many drawers at the beginning are already filed from other sources, and the names of these sources. */
export function copiedFrom(
  digests: readonly string[],
  own: string,
  filed: ReadonlyMap<string, Exchanges>,
): { count: number; sources: string[] } {
  const [first = ""] = digests;
  if (first === "") return { count: 0, sources: [] };
  const holding = new Map<string, string>();
  for (const [name, other] of filed)
    if (name !== own && other.first === first) for (const digest of other.held) holding.set(digest, name);
  const end = digests.findIndex((digest) => !holding.has(digest));
  const count = end < 0 ? digests.length : end;
  return { count, sources: [...new Set(digests.slice(0, count).map((digest) => holding.get(digest) ?? ""))] };
}

/** Returns the exchanges of each source in `files` that the palace still has with the same content. */
export function filedExchanges(
  files: Readonly<Record<string, Entry>>,
  records: ReadonlyMap<string, FilingRecord>,
): Map<string, Exchanges> {
  const filed = new Map<string, Exchanges>();
  for (const [name, { sha256, exchanges }] of Object.entries(files))
    if (exchanges !== undefined && sha256 !== "" && records.get(name)?.sha256 === sha256) filed.set(name, exchanges);
  return filed;
}

/** Returns true if the palace still has the other sources that contain the copied beginning of this transcript. */
export function isWhole({ without = [] }: Entry, records: ReadonlyMap<string, FilingRecord>): boolean {
  return without.every((name) => (records.get(name)?.drawers ?? 0) > 0);
}
