import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { StatusReport } from "../../../src/protocol/spec.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const SETTLED_MAX_MS = 30_000;

async function graph(palace: TestPalace): Promise<StatusReport["graph"]> {
  const client = await palace.client();
  try {
    return (await client.call("palace.status", {})).graph;
  } finally {
    client.close();
  }
}

test("the status explains the wait for a locked graph file, and the facts are written afterwards", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const shim = await palace.shim();
  const add = (object: string) => shim.call("mempalace_kg_add", { subject: "gate", predicate: "code", object });
  await add("first");
  await expect
    .poll(() => graph(palace), { timeout: SETTLED_MAX_MS })
    .toMatchObject({ state: "synced", lag: 0, lagMs: 0 });

  const theirs = new Database(palace.config.paths.graphFile);
  theirs.exec("BEGIN IMMEDIATE");
  await add("second");
  await expect
    .poll(() => graph(palace), { timeout: SETTLED_MAX_MS })
    .toMatchObject({ state: "unreachable", detail: expect.stringContaining("locked") as string });
  const held = await graph(palace);
  expect(held.lag).toBeGreaterThan(0);
  expect(held.lagMs).toBeGreaterThan(0);
  const said = await palace.run("palace", ["status"]);
  expect(said.stdout).toMatch(/still to write to MemPalace's files, the oldest for \d+\.\d s.*locked/);

  theirs.exec("ROLLBACK");
  await expect
    .poll(() => graph(palace), { timeout: SETTLED_MAX_MS })
    .toMatchObject({ state: "synced", lag: 0, detail: "" });
  const objects = theirs.prepare("SELECT object FROM triples ORDER BY object").pluck().all();
  expect(objects).toHaveLength(2);
  theirs.close();
  await shim.close();
});
