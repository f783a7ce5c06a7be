/**
 * Runs our own code for shown memories and scores as a strategy of `npm run bench:learning`. Uses no broker, because the bench sets the
 * clock.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askedMark } from "../../src/learning/turn/repeated-question.ts";
import { AGED_MAX, dueMemories } from "../../src/learning/scoring/retention.ts";
import { drawersToShow, type ToldContext } from "../../src/learning/turn/shown-memories.ts";
import { plainTime } from "../../src/learning/scoring/true-time.ts";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { openLexicalIndex } from "../../src/memory/index/lexical/lexical-index.ts";
import { openVectorIndex } from "../../src/memory/index/vectors/vector-index.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { Telling } from "../../src/memory/port/outcome.ts";
import type { Embedder } from "../../src/memory/port/search.ts";
import { CARRIED_MAX } from "../../src/protocol/limits.ts";
import type { CarriedMemory } from "../../src/protocol/outcome.ts";
import type { Strategy, World } from "./learning-world.ts";

const AGENT = "bench";
export const ANSWER = "I have tried one of these.";
const REPLY = "thanks, go on";
const PENDING_MAX = 500;

type Turn = { conversation: string; question: string; shown: number[] };

/** Opens the strategy. Memories begin in `history` (expire after 30 days), exchanges in `working` (one day). */
export async function openTurns(
  world: World,
  embedder: Embedder,
  startMs: number,
): Promise<Strategy & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), "learning-"));
  const ledgerFile = join(folder, "ledger.sqlite3");
  const writer = new LedgerWriter(ledgerFile, applyWrite);
  const reader = new SqliteLedgerReader(ledgerFile);
  const [lexical, vectors] = [openLexicalIndex({ ledgerFile }), openVectorIndex({ ledgerFile })];
  const context: ToldContext = { reader, lexical, vectors, embedder: () => embedder, reranker: () => undefined };
  let count = 0;
  let turn: Turn | undefined;

  const write = async (method: string, params: Record<string, unknown>, atMs: number, findings?: unknown) => {
    const peer = { agent: method === "memory.age" ? "palace ageing" : AGENT, door: "unix", uid: 0, pid: 1 };
    const call = { key: `k${++count}`, isRepeatable: false, method, params, peer, requestId: "", atMs };
    const { outcomes, changes } = writer.commit([{ ...call, ...(findings !== undefined && { findings }) }]);
    if (outcomes[0]?.outcome.ok !== true) throw new Error(JSON.stringify(outcomes[0]?.outcome));
    await vectors.refresh(changes);
    return outcomes[0].outcome.value;
  };
  const embedAll = async (): Promise<void> => {
    for (;;) {
      const pending = reader.pendingTexts(0, PENDING_MAX);
      if (pending.length === 0) return;
      const made = await embedder.embed(pending.map(({ text }) => text));
      const rows = pending.map(({ row, textVersion }, at) => ({
        ...{ row, textVersion, vector: made[at] ?? new Float32Array() },
      }));
      await vectors.refresh(writer.storeVectors(rows, embedder.identity.id));
    }
  };

  const idOf = (at: number): string => `history_${at.toString(16).padStart(8, "0")}`;
  const numbers = new Map(world.memories.map((_, at) => [idOf(at), at]));
  const created = new Date(startMs).toISOString();
  const memories = world.memories.map(({ text }, at): CarriedMemory => {
    const metadata = { score: 0.5, uses: 0, created_at: created, timestamp: created };
    return { id: idOf(at), collection: "history", text, metadata };
  });
  for (let from = 0; from < memories.length; from += CARRIED_MAX)
    await write("outcome.import", { memories: memories.slice(from, from + CARRIED_MAX), isDry: false }, startMs);
  await embedAll();

  return {
    async show(question, atMs) {
      const conversation = `talk ${++count}`;
      const asked = { conversation, prompt: question, isFresh: false, isCompacted: false };
      const { drawers } = await drawersToShow(context, asked, (text) => text, atMs);
      await write("turn.begin", { conversation }, atMs, { drawers, mark: askedMark(question), isFresh: false });
      turn = { conversation, question, shown: drawers.map((id) => numbers.get(id) ?? -1) };
      return turn.shown;
    },
    async hear(outcomes, answer, atMs) {
      const scores = Object.fromEntries([...outcomes].map(([at, outcome]): [string, Telling] => [idOf(at), outcome]));
      if (turn === undefined) return void (await write("score_memories", { memory_scores: scores }, atMs));
      const { conversation, question } = turn;
      turn = undefined;
      await write("turn.end", { conversation, user: question, assistant: ANSWER }, atMs);
      await write("turn.begin", { conversation }, atMs, { drawers: [], mark: askedMark(REPLY), isFresh: false });
      await write("outcome.score", { conversation, outcome: answer, memory_scores: scores }, atMs);
      await embedAll();
    },
    async rest(atMs) {
      const time = plainTime(atMs);
      for (;;) {
        const ids = await dueMemories(context, time, false);
        if (ids.length > 0) await write("memory.age", { ids, time, isStart: false }, atMs);
        if (ids.length < AGED_MAX) return;
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([lexical.close(), vectors.close()]);
      reader.close();
      writer.close();
      rmSync(folder, { recursive: true });
    },
  };
}
