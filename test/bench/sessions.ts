/** Measures `mempalace-session` on 140 sessions: a first run, an unchanged re-run, and an agent's wait behind a batch. */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CONVERSATION_PART_DRAWERS_MAX } from "../../src/protocol/limits.ts";
import { createOpencodeDatabase, fillOpencode } from "../helpers/opencode-database.ts";
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { Corpus } from "./corpus.ts";
import { atMost, ms, noModel, type Row } from "./measure.ts";

const SESSIONS = 140;
const MESSAGES = 1500;

/** Number of vectors before the timed ones, to warm up the model. */
const WARM = 32;
/** Maximum number of vectors to time. */
const TIMED = 640;
const TIMED_MAX_MS = 120_000;

export async function bench(): Promise<Row[]> {
  if (realModelDir === undefined) return noModel("sessions");
  await using palace = createTestPalace({ built: true });
  // Runs without the model first, because the embedder would take processor time from the miner.
  const broker = await palace.startBroker();
  const database = createOpencodeDatabase(join(palace.home, ".local/share/opencode/opencode.db"));
  fillOpencode(database, { sessions: SESSIONS, messages: MESSAGES, seed: 11 });

  type Report = { filed: number; unchanged: number; drawers: number };
  const run = async (): Promise<{ tookMs: number; report: Report }> => {
    const startedAt = performance.now();
    const { code, stdout, stderr } = await palace.run("mempalace-session", ["--wing", "talks", "--json"]);
    if (code !== 0) throw new Error(stderr);
    return { tookMs: performance.now() - startedAt, report: JSON.parse(stdout) as Report };
  };
  const first = await run();
  const again = await run();
  database.close();
  if (first.report.filed !== SESSIONS || again.report.unchanged !== SESSIONS)
    throw new Error(`filed ${first.report.filed}, unchanged ${again.report.unchanged}`);
  broker.kill("SIGTERM");
  await once(broker, "exit");

  await palace.startBroker({ MEMPALACE_MODEL_DIR: realModelDir });
  const client = await palace.client();
  const embedded = async (): Promise<number> => (await client.call("palace.status", {})).search.embedded;
  const vectorMs = await msPerVector(embedded, first.report.drawers);
  const firstMs = first.tookMs + vectorMs * first.report.drawers;

  // Sends a whole batch of a transcript, and at once an agent's write on another connection.
  const agent = await palace.client();
  const corpus = new Corpus(5);
  const texts = Array.from({ length: CONVERSATION_PART_DRAWERS_MAX }, () => corpus.text(100).slice(0, 800));
  const part = client.call("conversation.replace", {
    ...{ wing: "talks", room: "general", sourceFile: "/bench.jsonl", mtime: 1, sha256: "x", addedBy: "bench" },
    ...{ texts, from: 0, total: texts.length },
  });
  const writtenAt = performance.now();
  await agent.callTool("mempalace_add_drawer", { wing: "notes", room: "x", content: "an agent's own words" });
  const waitedMs = performance.now() - writtenAt;
  await part;
  agent.close();
  client.close();
  const detail = `${ms(again.tookMs)} / ${ms(firstMs)}, ${first.report.drawers} drawers of ${vectorMs.toFixed(1)} ms each`;
  return [
    atMost("unchanged mempalace-session / first run, 140 sessions", again.tookMs / firstMs, 0.02, detail),
    atMost(
      "mempalace-session's part of its first run",
      first.tookMs / firstMs,
      0.25,
      `${ms(first.tookMs)} / ${ms(firstMs)}`,
    ),
    atMost(
      "a write behind a part of a transcript / 1 s",
      waitedMs / 1000,
      1,
      `${ms(waitedMs)} behind ${texts.length} drawers`,
    ),
  ];
}

/** Times vectors after the model has warmed up. */
async function msPerVector(embedded: () => Promise<number>, drawers: number): Promise<number> {
  const start = Math.min(WARM, drawers / 2);
  while ((await embedded()) < start) await delay(20);
  const [from, startedAt] = [await embedded(), performance.now()];
  for (;;) {
    const [done, tookMs] = [(await embedded()) - from, performance.now() - startedAt];
    const isEnough = done >= TIMED || done + from >= drawers || tookMs > TIMED_MAX_MS;
    if (isEnough && done > 0) return tookMs / done;
    await delay(50);
  }
}
