/** Compares the ledger with the public palace, for tests in which the real MemPalace works on the same palace. */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import Database from "better-sqlite3";
import { expect } from "vitest";
import type { StatusReport } from "../../src/protocol/spec.ts";
import type { TestPalace } from "./palace.ts";
import type { ChromaRow } from "./python-chroma.ts";

const VECTORS_APART_MAX = 1e-5;

export async function status(palace: TestPalace): Promise<StatusReport> {
  const client = await palace.client();
  try {
    return await client.call("palace.status", {});
  } finally {
    client.close();
  }
}

/** Waits until ledger and public palace are equal: all rows are adopted, embedded and sent. */
export async function inStep(palace: TestPalace, timeoutMs = 120_000): Promise<StatusReport> {
  const deadline = Date.now() + timeoutMs;
  const client = await palace.client();
  try {
    for (;;) {
      const now = await client.call("palace.status", {});
      const { driver, search, adoption, strays } = now;
      const isTaken = driver.kind === "none" ? adoption.state === "verified" : strays.state !== "looking";
      const isSent = driver.kind === "none" || (driver.state === "synced" && driver.lag === 0);
      const isSure = adoption.state === "none" || adoption.state === "verified";
      if (isTaken && isSent && search.pending === 0 && isSure) return now;
      if (Date.now() > deadline)
        throw new Error(`not in step: ${JSON.stringify({ driver, search, adoption, strays })}`);
      await delay(30);
    }
  } finally {
    client.close();
  }
}

/** Returns the ledger's drawers in the shape of the public palace's rows. */
export function ledgerRows({ config }: TestPalace): Map<string, ChromaRow> {
  return ledgerRowsIn(config.paths.ledgerFile);
}

export function ledgerRowsIn(file: string): Map<string, ChromaRow> {
  const database = new Database(file, { readonly: true });
  const rows = database
    .prepare<[], { id: string; text: string; metadata: string; vector: Buffer | null }>(
      "SELECT id, text, metadata, vector FROM drawer d LEFT JOIN vector v ON v.row = d.row",
    )
    .all();
  database.close();
  return new Map(
    rows.map(({ id, text, metadata, vector }) => {
      const floats = vector === null ? [] : [...new Float32Array(Uint8Array.from(vector).buffer)];
      return [id, { text, metadata: JSON.parse(metadata) as Record<string, unknown>, vector: floats }];
    }),
  );
}

/** Asserts that both sides have the same ids, texts and metadata, and vectors of the same direction. */
export function expectSame(ours: Map<string, ChromaRow>, theirs: Map<string, ChromaRow>): void {
  expect([...ours.keys()].sort()).toEqual([...theirs.keys()].sort());
  // One expectation per row would be slow for thousands of rows.
  const differing = [...theirs].filter(([id, row]) => !isSame(ours.get(id), row)).map(([id]) => id);
  for (const id of differing.slice(0, 3)) {
    expect(ours.get(id)?.text, id).toBe(theirs.get(id)?.text);
    expect(ours.get(id)?.metadata, id).toEqual(theirs.get(id)?.metadata);
  }
  expect(differing, "of the same text and metadata, their vectors apart").toEqual([]);
}

function isSame(ours: ChromaRow | undefined, { text, metadata, vector }: ChromaRow): boolean {
  if (ours?.text !== text || !isDeepStrictEqual(ours.metadata, metadata)) return false;
  const length = Math.hypot(...vector);
  return vector.every((value, at) => Math.abs(value / length - (ours.vector[at] ?? 9)) < VECTORS_APART_MAX);
}
