/** Tests Roampal's HTTP endpoint for scores on a real ledger. The answer says if an agent contradicts itself within a turn. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { API_ROUTES, type Asker } from "../../../src/broker/outcome-api/routes.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";

let folder: string;
let writer: LedgerWriter;
let clock = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(method: string, params: object, findings?: unknown): Record<string, unknown> {
  clock += 1000;
  const peer = { agent: "ada", door: "tcp", uid: -1, pid: 0 };
  const call = { key: `k${clock}`, isRepeatable: true, method, peer, requestId: "r", atMs: clock, findings };
  const [done] = writer.commit([{ ...call, params: params as Record<string, unknown> }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Record<string, unknown>;
}

const asker = { call: (method: string, params: object) => Promise.resolve(write(method, params)) } as unknown as Asker;
const score = async (outcome: string, id: unknown): Promise<unknown> => {
  const given = { conversation_id: "c", outcome, memory_scores: { [String(id)]: outcome } };
  return API_ROUTES["/api/record-outcome"]?.answer(asker, given as never);
};

test("the API does not count a score that contradicts an earlier score of the turn, and names the memory", async () => {
  const { id } = write("outcome.record", { key_takeaway: "The port is 4711" });
  write("turn.begin", { conversation: "c" }, { drawers: [id], mark: undefined });
  const { id: answer } = write("turn.end", { conversation: "c", user: "Which port is it?", assistant: "It is 4711." });
  write("turn.begin", { conversation: "c" });
  const counted = { success: true, outcome: "worked", documents_scored: 1, summary_stored: false };
  expect(await score("worked", id)).toEqual(counted);
  expect(await score("worked", id)).toEqual(counted);
  expect(await score("failed", id)).toEqual({
    ...{ success: true, outcome: "failed", documents_scored: 0, summary_stored: false, settled: [id, answer] },
    detail: expect.stringContaining(`scored them differently: ${String(id)}`) as unknown,
  });
});
