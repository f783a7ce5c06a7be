/** Reads and fills palaces through the real Chroma of a MemPalace version, without a server. python-mempalace.ts uses the tools instead. */
import { hash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CI_CACHE, mempalaceEnv, type MempalaceVersion, python } from "./python-mempalace.ts";

/** Minimum share of rows that a search by the row's own vector must find. Chroma's approximate index finds 984 to 998 of 1,000. */
export const FOUND_BY_OWN_VECTOR_MIN = 0.95;

export type ChromaRow = { text: string; metadata: Record<string, unknown>; vector: number[] };

/** Prints the vectors as 32-bit floats, because decimal numbers would take ten times as long. */
const DUMP = `
import base64, chromadb, json, numpy, sys
collection = chromadb.PersistentClient(sys.argv[1]).get_collection(sys.argv[2], embedding_function=None)
got = collection.get(include=["documents", "metadatas", "embeddings"])
json.dump({i: {"text": d, "metadata": m, "vector": base64.b64encode(numpy.asarray(v, "<f4")).decode()}
  for i, d, m, v in zip(got["ids"], got["documents"], got["metadatas"], got["embeddings"])}, sys.stdout)`;

/** Reads a palace through Chroma's library. This may write: opening a palace applies the rows of its queue. */
export async function dumpChroma(
  version: MempalaceVersion,
  home: string,
  palace: string,
  collection = "mempalace_drawers",
): Promise<Map<string, ChromaRow>> {
  const dumped = await python(version, home, DUMP, [palace, collection]);
  const rows = JSON.parse(dumped) as Record<string, Omit<ChromaRow, "vector"> & { vector: string }>;
  return new Map(
    Object.entries(rows).map(([id, { vector, ...row }]) => {
      const floats = new Float32Array(Uint8Array.from(Buffer.from(vector, "base64")).buffer);
      return [id, { ...row, vector: [...floats] }];
    }),
  );
}

/** Makes rows with embeddings of the model in HOME and a flushed index. Leaves updates and deletions in the queue. */
const FILL = `
import chromadb, random, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
palace, count, threshold = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
collection = chromadb.PersistentClient(palace).get_or_create_collection("mempalace_drawers",
  embedding_function=DefaultEmbeddingFunction(),
  metadata={"hnsw:space": "cosine", "hnsw:num_threads": 1, "hnsw:batch_size": 100, "hnsw:sync_threshold": threshold})
def row(i): return {"wing": f"w{i % 7}", "room": "r", "chunk_index": i, "source_mtime": float(i), "score": float(i), "ratio": i + 0.5, "live": i % 2 == 0, "source_file": ""}
for start in range(0, count, 500):
    at = range(start, min(start + 500, count))
    collection.add(ids=[f"drawer_{i}" for i in at], documents=[f"text number {i} of many" for i in at], metadatas=[row(i) for i in at])
collection.update(ids=["drawer_3", "drawer_4"], documents=["three, changed", "four, changed"])
collection.update(ids=["drawer_5"], metadatas=[{"topic": "five"}])
collection.delete(ids=["drawer_7", "drawer_8"])
collection.upsert(ids=["drawer_8"], documents=["eight again"], metadatas=[{"wing": "back", "room": "r"}])`;

export async function fillChroma(
  version: MempalaceVersion,
  home: string,
  palace: string,
  { rows, syncThreshold }: { rows: number; syncThreshold: number },
): Promise<void> {
  await python(version, home, FILL, [palace, String(rows), String(syncThreshold)]);
}

/** Copies a palace that `fillChroma` made. Each machine makes it once per version and size. */
export async function cachedChroma(
  version: MempalaceVersion,
  palace: string,
  size: { rows: number; syncThreshold: number },
): Promise<void> {
  const name = `${version} ${FILL} ${JSON.stringify(size)}`;
  await cachedPalace(name, palace, (home, made) => fillChroma(version, home, made, size));
}

/**
 * Copies a cached palace to `palace`. At the first call on a machine, `make` makes it. `name` must describe everything that decides its
 * contents, except the model.
 */
export async function cachedPalace(
  name: string,
  palace: string,
  make: (home: string, made: string) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "palace-maker-"));
  try {
    mempalaceEnv(home);
    const model = readFileSync(join(home, "tiny-model/onnx/model.onnx"));
    const kept = join(CI_CACHE, "palaces", hash("sha256", `${name}\0${model.toString("base64")}`).slice(0, 16));
    if (!existsSync(kept)) {
      await make(home, join(home, "made"));
      mkdirSync(dirname(kept), { recursive: true });
      cpSync(join(home, "made"), `${kept}.${process.pid}`, { recursive: true });
      try {
        renameSync(`${kept}.${process.pid}`, kept);
      } catch (error) {
        if (!existsSync(kept)) throw error;
        rmSync(`${kept}.${process.pid}`, { recursive: true });
      }
    }
    cpSync(kept, palace, { recursive: true });
  } finally {
    rmSync(home, { recursive: true });
  }
}
