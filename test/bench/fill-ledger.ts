/** Fills a stopped broker's ledger through the product's own writer with given vectors: to embed 200,000 texts would take hours. */
import { createHash } from "node:crypto";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { formsOf } from "../../src/memory/index/lexical/tokens.ts";
import { staticTable } from "../../src/memory/index/static/static-table.ts";
import { DIMENSIONS } from "../../src/memory/index/vectors/scan-wasm.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import { moment } from "../../src/base/uptime.ts";
import type { WriteCall } from "../../src/memory/port/ledger.ts";
import { USUAL_CUT } from "../../src/memory/source/chunk.ts";
import type { Cut } from "../../src/protocol/filing.ts";
import { seededRandom } from "../helpers/random.ts";

export const WINGS = 8;
export const ROOMS = 10;
export const CHUNKS = 40;
/** Time of the first document. Each further document is filed one minute later. */
export const FIRST_AT_MS = Date.UTC(2026, 0, 1);
export const STEP_MS = 60_000;

const NOTHING_PRUNED = {
  journalRetentionMs: Number.MAX_SAFE_INTEGER,
  undoMs: Number.MAX_SAFE_INTEGER,
  imagesBytes: 2 ** 40,
};
const DOCUMENTS_PER_GROUP = 8;
const VECTORS_PER_GROUP = 2_000;

export type Filling = {
  ledgerFile: string;
  /** Name of the model that is stored with the made-up vectors. If undefined, no vectors of a model are stored. */
  model: string | undefined;
  text: (characters: number) => string;
  /** Number of documents that exist already. */
  from: number;
  /** Number of documents after the filling. */
  to: number;
  /** Number of drawers per document. */
  chunks?: number;
  cut?: Cut;
  wings?: number;
  /** Makes a drawer's vector. Default: a random direction. */
  vectorOf?: () => Float32Array;
};

/** Files the documents and their vectors, and does the work that a broker does when idle. Returns the number of drawers. */
export function fillLedger(filling: Filling): number {
  const { ledgerFile, model, text, from, to, chunks = CHUNKS, cut = USUAL_CUT, wings = WINGS } = filling;
  const random = seededRandom(from + 1);
  const { vectorOf = () => unitVector(random) } = filling;
  // Gives each drawer its static vector and word forms, as the broker's writer thread does.
  const writer = new LedgerWriter(ledgerFile, applyWrite, { staticCode: (one) => staticTable().codeOf(one), formsOf });
  const reader = new SqliteLedgerReader(ledgerFile);
  try {
    for (let start = from; start < to; start += DOCUMENTS_PER_GROUP) {
      const count = Math.min(DOCUMENTS_PER_GROUP, to - start);
      const calls = Array.from({ length: count }, (_, at) =>
        documentCall(start + at, text(chunks * (cut.size - cut.overlap)), cut, wings),
      );
      for (const { outcome } of writer.commit(calls).outcomes)
        if (!outcome.ok) throw new Error(`not filed: ${outcome.error.message}`);
    }
    if (model !== undefined) fillVectors(writer, reader, model, vectorOf);
    while (writer.maintain(NOTHING_PRUNED, moment()));
    return reader.drawerCount();
  } finally {
    reader.close();
    writer.close();
  }
}

/** Gives a vector to every drawer and closet that waits for one. */
export function fillVectors(
  writer: LedgerWriter,
  reader: SqliteLedgerReader,
  model: string,
  vectorOf: () => Float32Array,
): void {
  for (let last = 0; ;) {
    const pending = reader.pendingTexts(last, VECTORS_PER_GROUP);
    if (pending.length === 0) return;
    const vectors = pending.map(({ row, textVersion }) => ({ row, textVersion, vector: vectorOf() }));
    writer.storeVectors(vectors, model);
    last = pending.at(-1)?.row ?? last;
  }
}

export function sourceOf(document: number): string {
  return `/bench/project${document % WINGS}/${document}.md`;
}

export function documentCall(document: number, content: string, cut: Cut, wings = WINGS): WriteCall {
  const params = {
    wing: `wing${document % wings}`,
    room: `room${Math.floor(document / wings) % ROOMS}`,
    sourceFile: sourceOf(document),
    mtime: document,
    sha256: createHash("sha256").update(content).digest("hex"),
    content,
    addedBy: "bench",
    cut,
  };
  const atMs = FIRST_AT_MS + document * STEP_MS;
  const peer = { agent: "bench", door: "unix", uid: 0, pid: 1 };
  return { key: `fill ${document}`, isRepeatable: true, method: "source.replace", params, peer, requestId: "", atMs };
}

/** Makes a random vector. Random directions are far from each other. */
export function unitVector(random: () => number): Float32Array {
  return normalized(Float32Array.from({ length: DIMENSIONS }, () => random() + random() - 1));
}

/** Mixes three of the given vectors, so that drawers have near and far neighbours as real texts do. */
export function mixedVector(centres: readonly Float32Array[], random: () => number): Float32Array {
  const weighed = [1, 0.7, 0.4].map((weight) => ({ weight, centre: centres[Math.floor(random() * centres.length)] }));
  const at = (axis: number): number =>
    weighed.reduce((sum, { weight, centre }) => sum + weight * (centre?.[axis] ?? 0), 0);
  return normalized(Float32Array.from({ length: DIMENSIONS }, (_, axis) => at(axis)));
}

function normalized(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}
