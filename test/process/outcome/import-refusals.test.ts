import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { createRoampalData } from "../../helpers/roampal-folder.ts";

type Answer = Record<string, unknown>;

async function bring(palace: TestPalace, dir: string): Promise<Answer> {
  const { code, stdout, stderr } = await palace.run("palace", ["outcome", "import", dir, "--json"]);
  if (code !== 0) expect.fail(stderr);
  return JSON.parse(stdout) as Answer;
}

const undo = async (palace: TestPalace, client: string): Promise<string> =>
  (await palace.run("palace", ["undo", "--client", client, "--since", "1h", "--yes"])).stdout;

async function found(palace: TestPalace, id: string): Promise<unknown> {
  const { stdout } = await palace.run("palace", ["outcome", "why", id, "--json"]);
  return (JSON.parse(stdout || "{}") as Answer)["id"];
}

const ID = "history_0000000a";
const NEXT = "history_0000000b";

test("an import brings back memories that an undo removed, and skips memories that an agent deleted, also after an undo", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  data.file("roampal_history", [
    { id: ID, text: "one" },
    { id: NEXT, text: "two" },
  ]);
  await using agent = await palace.shim();
  await using writer = await palace.shim({ MEMPALACE_AGENT_NAME: "writer" });
  await bring(palace, data.dir);
  await undo(palace, "palace outcome import");
  const sinceMs = Date.now();
  expect(await bring(palace, data.dir)).toMatchObject({ added: 2, gone: [] });

  // In the journal, an undo in the page of `palace ui` has another author than an undo by the command.
  const person = await palace.client();
  await person.call("memory.undo", { agent: "palace outcome import", sinceMs, untilMs: Date.now() });
  expect(await bring(palace, data.dir)).toMatchObject({ added: 2, gone: [] });

  await agent.call("mempalace_delete_drawer", { drawer_id: ID });
  expect(await bring(palace, data.dir)).toMatchObject({ added: 0, gone: [ID], unchanged: 1 });

  await writer.call("mempalace_update_drawer", { drawer_id: NEXT, content: "rewritten" });
  await undo(palace, "writer");
  await agent.call("mempalace_delete_drawer", { drawer_id: NEXT });
  expect(await bring(palace, data.dir)).toMatchObject({ added: 0, gone: [ID, NEXT] });
});

test("a memory that cannot be imported is named, and the others are imported", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  const client = await palace.client();
  await client.callTool("record_response", { key_takeaway: "made here" });
  const { stdout } = await palace.run("palace", ["outcome", "export", join(palace.home, "out"), "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ memories: 1 });
  const made = new Database(join(palace.home, "out/chromadb/chroma.sqlite3"), { readonly: true });
  const here = made.prepare("SELECT embedding_id FROM embeddings").pluck().get() as string;
  made.close();

  data.file("roampal_working", [{ id: here, text: "of a Roampal that gave the same id" }]);
  data.file("roampal_history", [
    { id: ID, text: "odd", metadata: { mood: "fine" } },
    { id: NEXT, text: "good" },
    { id: "history_\u001b[2J", text: "clears the screen" },
    { id: "history_\0", text: "ends early" },
    { id: "history_0000000c", text: "text that\0ends early" },
    { id: "history_0000000d", text: "l".repeat(3 * 1024 ** 2) },
  ]);
  const chroma = new Database(join(data.dir, "chromadb/chroma.sqlite3"));
  chroma.exec("UPDATE embedding_metadata SET string_value = x'ff00fe' WHERE key = 'mood'");
  chroma.close();
  expect(await bring(palace, data.dir)).toMatchObject({
    ...{ added: 1, kept: [] },
    refused: [
      {
        id: "history_0000000d",
        why: "it has more than 8 MiB, its text counted once more for each field that repeats it",
      },
      { id: ID, why: "its field mood is not a text, a number, true or false" },
      { id: "history_\u001b[2J", why: "its id has control characters" },
      { id: "history_\0", why: "its id has control characters" },
      { id: "history_0000000c", why: "its text has a null byte" },
      { id: here, why: "its id belongs to a memory made here" },
    ],
  });
  expect(await found(palace, NEXT)).toBe(NEXT);

  const twice = { id: "history_0000000e", collection: "history", text: "twice", metadata: {} };
  expect(
    await client.call("outcome.import", { memories: [twice, twice, { ...twice, id: 7 as never }], isDry: false }),
  ).toMatchObject({
    added: [twice.id],
    refused: [
      { id: twice.id, why: "its id occurs twice" },
      { id: "7", why: "it has no id, collection, text and metadata" },
    ],
  });
  client.close();
});

test("an import names files that it cannot read, and never waits for them", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  const database = join(data.dir, "chromadb/chroma.sqlite3");
  const attempt = () => palace.run("palace", ["outcome", "import", data.dir]);
  const none = { code: 2, stderr: expect.stringContaining(`${database} is not a file`) as unknown };
  execFileSync("mkfifo", [database]);
  expect(await attempt()).toMatchObject(none);
  rmSync(database);
  mkdirSync(database);
  expect(await attempt()).toMatchObject(none);
  rmSync(database, { recursive: true });
  symlinkSync("/dev/zero", database);
  expect(await attempt()).toMatchObject(none);
  rmSync(database);

  data.file("roampal_history", [{ id: ID, text: "one" }]);
  execFileSync("mkfifo", [join(data.dir, "ghost_ids.json")]);
  expect(await bring(palace, data.dir)).toMatchObject({ added: 1 });
  const full = await palace.run("palace", ["outcome", "import", data.dir], { env: { TMPDIR: "/proc" } });
  expect([full.code, full.stderr]).toEqual([8, expect.stringContaining("cannot be copied to /proc")]);
  expect(full.stderr).not.toContain("    at ");
});

test.each(["/proc/x", "/proc/x/y", "FILE/sub", "FILE/sub/sub"])("an export to %s is refused at once", async (path) => {
  await using palace = createTestPalace();
  const file = join(palace.home, "file");
  writeFileSync(file, "");
  const dir = path.replace("FILE", file);
  const { code, stderr } = await palace.run("palace", ["outcome", "export", dir]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`${dir} cannot be made here (`)]);
  expect(stderr).not.toContain("    at ");
});

test("an undo of an import keeps memories scored since then, and names who changed them", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  data.file("roampal_history", [
    { id: ID, text: "one" },
    { id: NEXT, text: "two" },
  ]);
  await bring(palace, data.dir);
  await palace.run("palace", ["outcome", "score", ID, "worked"]);
  expect(await undo(palace, "palace outcome import")).toContain("changed since by palace outcome\n");
  expect([await found(palace, ID), await found(palace, NEXT)]).toEqual([ID, undefined]);
});
