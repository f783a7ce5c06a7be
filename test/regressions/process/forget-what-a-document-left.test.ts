/** Forgetting by id or source left a short document's text, and text of drawers that were deleted earlier, in the journal. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { filesHolding } from "../../helpers/bytes.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const SECRET = "zq7xk9unforgettable4w2v";

async function written(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  for (let tries = 0; tries < 600; tries++) {
    const { driver, search } = await client.call("palace.status", {});
    if (driver.lag === 0 && search.pending === 0) return client.close();
    await delay(50);
  }
  throw new Error("the palace was not written");
}

test("forget of a drawer also removes the text of its short document from the journal", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  await client.call("source.replace", {
    ...{ wing: "p", room: "general", sourceFile: "a.md", sha256: "0", mtime: 1, addedBy: "t" },
    content: `A short document.\n\nIts second paragraph names ${SECRET} and nothing else.\n`,
  });
  await client.call("conversation.replace", {
    ...{ wing: "p", room: "general", sourceFile: "/c.jsonl", sha256: "1", mtime: 1, addedBy: "t", total: 1, from: 0 },
    texts: [`> what is it\n\nIt is ${SECRET}, as ever.`],
  });
  const listed = await client.callTool("mempalace_list_drawers", {});
  const { drawers } = listed as { drawers: { drawer_id: string }[] };
  client.close();
  expect(drawers.length).toBe(2);
  const done = await palace.run("palace", ["forget", ...drawers.map((one) => one.drawer_id), "--yes", "--json"]);
  expect(JSON.parse(done.stdout)).toMatchObject({ drawers: 2, pending: 0, left: [] });
  expect(filesHolding(palace.home, SECRET)).toEqual([]);
});

test("forget of a source also removes the texts of its drawers that were deleted or changed earlier", async () => {
  await using palace = createTestPalace();
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`), MEMPALACE_DRIVER: "files" });
  const client = await palace.client();
  const add = async (content: string): Promise<string> => {
    const note = { wing: "w", room: "r", content, source_file: "/x/notes.md" };
    return ((await client.callTool("mempalace_add_drawer", note)) as { drawer_id: string }).drawer_id;
  };
  const deleted = await add(`the first of them says ${SECRET} and is deleted`);
  const changed = await add(`the second of them says ${SECRET} and is changed`);
  await add("the third of them stays as it is");
  await written(palace);
  await client.callTool("mempalace_delete_drawer", { drawer_id: deleted });
  await client.callTool("mempalace_update_drawer", { drawer_id: changed, content: "it says something else by now" });
  client.close();
  await written(palace);
  expect(filesHolding(palace.home, SECRET)).not.toEqual([]);
  const done = await palace.run("palace", ["forget", "--source", "/x/notes.md", "--yes", "--json"]);
  expect(JSON.parse(done.stdout)).toMatchObject({ drawers: 2, pending: 0, left: [] });
  expect(filesHolding(palace.home, SECRET)).toEqual([]);
});
