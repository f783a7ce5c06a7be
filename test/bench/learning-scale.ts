/** Compares `turn.begin` in a large memory with a bare search of it. Also runs alone: `node test/bench/learning-scale.ts`. */
import { createTestPalace } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { CarriedMemory } from "../../src/protocol/outcome.ts";
import { CARRIED_MAX } from "../../src/protocol/limits.ts";
import { Corpus } from "./corpus.ts";
import { fillVectors, unitVector } from "./fill-ledger.ts";
import { atMost, median, ms, requireBuild, type Row } from "./measure.ts";
import { allEmbedded } from "./settled.ts";

const MEMORIES = Number(process.env["LEARNING_MEMORIES"] ?? 100_000);
const COLLECTIONS = ["working", "history", "patterns"] as const;
/** Roampal's maximum number of facts. */
const FACTS = 500;
const TEXT = 300;
const ASKED = 40;
const WARM = 5;
const RATIO_MAX = 1.5;

export async function benchScale(): Promise<Row> {
  await using palace = createTestPalace({ built: true });
  const folder = writeTinyModel(`${palace.home}/model`);
  const nowhere = "/nonexistent";
  const files = await findModel({
    ...{ dir: folder, rerankDir: undefined, url: undefined, offline: true, cacheDir: nowhere, userHome: nowhere },
  });
  if (files === undefined) throw new Error("the tiny model is not whole");
  const corpus = new Corpus(6);
  fill(palace.config.paths.ledgerFile, files.identity.id, corpus);
  await palace.startBroker({ MEMPALACE_MODEL_DIR: folder, MEMPALACE_DRIVER: "none" });
  const client = await palace.client();
  await allEmbedded(client);
  const [turns, searches]: [number[], number[]] = [[], []];
  for (let at = 0; at < WARM + ASKED; at++) {
    const prompt = corpus.text(120);
    const begun = await timed(() => client.call("turn.begin", { conversation: `talk ${at}`, prompt }));
    const found = await timed(() => client.callTool("mempalace_search", { query: prompt, wing: "roampal", limit: 5 }));
    if (at < WARM) continue;
    turns.push(begun);
    searches.push(found);
  }
  client.close();
  const [turn, search] = [median(turns), median(searches)];
  const name = `a turn begins, ${MEMORIES.toLocaleString("en")} memories / a bare search of them`;
  return atMost(name, turn / search, RATIO_MAX, `${ms(turn)} / ${ms(search)}`);
}

function fill(ledgerFile: string, model: string, corpus: Corpus): void {
  const writer = new LedgerWriter(ledgerFile, applyWrite);
  const reader = new SqliteLedgerReader(ledgerFile);
  try {
    for (let from = 0; from < MEMORIES; from += CARRIED_MAX) {
      const memories = Array.from({ length: CARRIED_MAX }, (_, at): CarriedMemory => memory(from + at, corpus));
      const call = {
        ...{ key: `fill ${from}`, isRepeatable: true, method: "outcome.import", params: { memories, isDry: false } },
        ...{ peer: { agent: "bench", door: "unix", uid: 0, pid: 1 }, requestId: "", atMs: Date.now() },
      };
      for (const { outcome } of writer.commit([call]).outcomes)
        if (!outcome.ok) throw new Error(`not filed: ${outcome.error.message}`);
    }
    const random = seededRandom(1);
    fillVectors(writer, reader, model, () => unitVector(random));
  } finally {
    reader.close();
    writer.close();
  }
}

function memory(at: number, corpus: Corpus): CarriedMemory {
  const collection = at < FACTS ? "memory_bank" : (COLLECTIONS[at % COLLECTIONS.length] ?? "working");
  const id = `${collection}_${at.toString(16).padStart(8, "0")}`;
  const metadata = { score: 0.5, uses: 0, created_at: new Date().toISOString() };
  return { id, collection, text: corpus.text(TEXT), metadata };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

if (import.meta.main) {
  requireBuild();
  const { name, measured, bar, ok } = await benchScale();
  process.stdout.write(`${ok ? "ok  " : "MISS"}  ${name}  ${measured} (${bar})\n`);
  process.exit(ok ? 0 : 1);
}
