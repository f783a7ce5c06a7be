import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const FACTS = 100;

test("MemPalace's graph file has most facts as soon as the tool has answered", async () => {
  await using palace = createTestPalace();
  const shim = await palace.shim();
  const fact = (index: number) => ({ subject: "gate", predicate: "code", object: `number ${index}` });
  await shim.call("mempalace_kg_add", fact(0));
  await expect.poll(() => factsIn(palace.config.paths.graphFile), { timeout: 30_000 }).toBe(1);
  const late: number[] = [];
  for (let index = 1; index <= FACTS; index++) {
    await shim.call("mempalace_kg_add", fact(index));
    if (factsIn(palace.config.paths.graphFile) !== index + 1) late.push(index);
  }
  // The answer waits for the file only for a bounded time, which may be too short on a machine under load.
  expect(late.length, late.join(" ")).toBeLessThan(FACTS / 2);
  await shim.call("mempalace_kg_invalidate", { ...fact(FACTS), ended: "2030-01-01" });
  await expect.poll(() => factsIn(palace.config.paths.graphFile, "WHERE valid_to IS NOT NULL")).toBe(1);
  await shim.close();
});

test("the tool answers while another process has locked the graph file, and the fact is in the file afterwards", async () => {
  await using palace = createTestPalace();
  const shim = await palace.shim();
  await shim.call("mempalace_kg_add", { subject: "gate", predicate: "code", object: "first" });
  await expect.poll(() => factsIn(palace.config.paths.graphFile), { timeout: 30_000 }).toBe(1);
  const theirs = new Database(palace.config.paths.graphFile);
  theirs.exec("BEGIN EXCLUSIVE");
  // The other process keeps the file's lock until this answer has arrived.
  const second = { subject: "gate", predicate: "code", object: "second" };
  expect(await shim.call("mempalace_kg_add", second)).toMatchObject({ success: true });
  expect(theirs.prepare("SELECT count(*) FROM triples").pluck().get()).toBe(1);
  theirs.exec("ROLLBACK");
  theirs.close();
  await expect.poll(() => factsIn(palace.config.paths.graphFile), { timeout: 30_000 }).toBe(2);
  await shim.close();
});

function factsIn(file: string, where = ""): unknown {
  if (!existsSync(file)) return 0;
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare(`SELECT count(*) FROM triples ${where}`).pluck().get();
  } finally {
    database.close();
  }
}
