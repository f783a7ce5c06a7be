/** Tests that a refused score can be repeated and still counts for its question. A huge request size makes the broker refuse it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startBuiltinEngine } from "../../../src/broker/builtin/engine.ts";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import type { Engine } from "../../../src/broker/engine.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { Searches } from "../../../src/learning/search/recent-searches.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { IDEMPOTENCY_META } from "../../../src/protocol/headers.ts";
import { QUEUE_SIZE_MAX_BYTES } from "../../../src/protocol/limits.ts";
import type { RpcResponse, StatusReport } from "../../../src/protocol/spec.ts";

const peer: Peer = { id: 1, agent: "test", door: "unix", role: "admin", uid: 0, pid: 1, tools: "outcome" };
const QUERY = "Why does the zeppelin pipeline time out?";
const BUSY = { error: { data: { code: "BROKER_BUSY" } } };

let folder: string;
let engine: Engine;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "refused-score-"));
  engine = startBuiltinEngine({
    ...{ config: loadConfig({ HOME: folder, MEMPALACE_OFFLINE: "1" }), metrics: new Metrics(), log: SILENT_LOG },
    onFatal: () => {},
    status: () => ({}) as StatusReport,
    stop: () => {},
    pageLink: () => Promise.reject(new Error("no page")),
    ownFiles: {} as never,
    miner: { command: process.execPath, args: [], env: {} },
    ending: new Promise(() => {}),
  });
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

type Call = { sizeBytes?: number; key?: string };

async function call(method: string, params: object, { sizeBytes = 100, key }: Call = {}): Promise<RpcResponse> {
  const meta = key === undefined ? {} : { _meta: { [IDEMPOTENCY_META]: key } };
  return (await engine.dispatch(
    peer,
    { jsonrpc: "2.0", id: 1, method, params: { ...params, ...meta } },
    sizeBytes,
  )) as RpcResponse;
}

async function valueOf(answer: Promise<RpcResponse>): Promise<Record<string, unknown>> {
  return ((await answer) as { result: Record<string, unknown> }).result;
}

/** Stores a memory and finds it for `QUERY`. Returns its id. */
async function foundMemory(): Promise<string> {
  const takeaway = "The zeppelin pipeline wants a longer timeout";
  const { id } = await valueOf(call("outcome.record", { key_takeaway: takeaway }));
  await search();
  return String(id);
}

async function search(): Promise<void> {
  expect(await valueOf(call("outcome.search", { query: QUERY }))).toMatchObject({ memories: [{}] });
}

/** Returns the number of questions for which the memory has the outcome `worked`. */
async function questions(id: string): Promise<number> {
  const { questions: told } = await valueOf(call("outcome.why", { id }));
  return (told as { answers: { worked: number }[] }).answers.reduce((sum, { worked }) => sum + worked, 0);
}

const score = (id: string, more: object = {}) => ({ outcome: "unknown", memory_scores: { [id]: "worked" }, ...more });
const asTool = (id: string, more: object = {}) => ({ name: "score_memories", arguments: score(id, more) });

test.each([
  ["tools/call", asTool],
  ["outcome.score", score],
] as const)(
  "%s: a score that is refused because the broker is busy counts for its question when it is repeated",
  async (method, of) => {
    const id = await foundMemory();
    expect(await call(method, of(id), { sizeBytes: QUEUE_SIZE_MAX_BYTES + 1 })).toMatchObject(BUSY);
    await call(method, of(id));
    expect(await questions(id)).toBe(1);
  },
);

test("a score with invalid facts does not use up the question, and two later scores count the question once", async () => {
  const id = await foundMemory();
  expect(await valueOf(call("tools/call", asTool(id, { facts: "none" })))).toMatchObject({ isError: true });
  await call("tools/call", asTool(id));
  await call("tools/call", asTool(id));
  expect(await questions(id)).toBe(1);
});

test("a score that is repeated with its key does not use up the question of a newer search", async () => {
  const id = await foundMemory();
  await call("tools/call", asTool(id), { key: "once" });
  await search();
  await call("tools/call", asTool(id), { key: "once" });
  expect(await questions(id)).toBe(1);
  await call("tools/call", asTool(id));
  expect(await questions(id)).toBe(2);
});

test("giveBack restores the questions of a refused score, but not over newer questions, and not after `clear`", () => {
  const searches = new Searches();
  const own = searches.of("ada");
  const taken = (): string => JSON.stringify(searches.of("ada").take("d1")?.concepts);
  own.note(["d1"], "zeppelin pipeline");
  const refused = searches.of("ada");
  const old = JSON.stringify(refused.take("d1")?.concepts);
  refused.giveBack();
  expect(taken()).toBe(old);
  own.note(["d1"], "zeppelin pipeline");
  const late = searches.of("ada");
  late.take("d1");
  own.note(["d1"], "garden ferns");
  late.giveBack();
  expect(taken()).not.toBe(old);
  own.note(["d1"], "zeppelin pipeline");
  const erased = searches.of("ada");
  erased.take("d1");
  searches.clear();
  erased.giveBack();
  expect(searches.of("ada").take("d1")).toBeUndefined();
});
