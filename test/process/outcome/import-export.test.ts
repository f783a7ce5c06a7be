import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { CarriedMemory } from "../../../src/protocol/outcome.ts";
import { RoampalFolder } from "../../../src/learning/roampal/source.ts";
import { createRoampalData, type RoampalData } from "../../helpers/roampal-folder.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { listDrawers } from "../../helpers/list-drawers.ts";

const HOUR_MS = 3_600_000;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString().slice(0, -1);
const PAST = JSON.stringify([
  { outcome: "unknown", timestamp: "2026-01-01T00:00:00.000001", reason: null },
  { outcome: "worked", timestamp: "2026-01-02T00:00:00.000001", reason: "fast" },
]);
const SCORED = {
  ...{ score: 0.85, uses: 4, success_count: 3.5, outcome_history: PAST, last_outcome: "worked" },
  last_used: "2026-01-02T00:00:00.000001",
};
const GRAPHS = { entries: 0, added: 0, updated: 0, unchanged: 0, refused: [], unread: [] };
const WHOLE = { graphs: GRAPHS, unreadable: 0, repeated: 0, ghosts: 0, kept: [], gone: [], refused: [], overdue: 0 };

/** Fills the data folder with a memory of each kind. */
function fill(data: RoampalData): void {
  data.file("roampal_working", [
    {
      id: "working_0000000a",
      text: "the deploy wants a longer timeout",
      metadata: { ...SCORED, created_at: ago(HOUR_MS), room: "kitchen" },
    },
  ]);
  data.file("roampal_history", [
    { id: "history_0000000b", text: "rebase before merging", metadata: { created_at: ago(HOUR_MS) } },
  ]);
  data.file("roampal_patterns", [
    { id: "patterns_0000000c", text: "pin the compiler", metadata: { score: 0.95, uses: 9, success_count: 9 } },
  ]);
  const fact = { score: 1, importance: 0.9, confidence: 0.8, tags: '["identity"]', created_at: "2025-03-01T10:00:00" };
  data.file("roampal_memory_bank", [
    {
      id: "memory_bank_0000000d",
      text: "The user drinks tea",
      metadata: { ...fact, status: "active", always_inject: true },
    },
    { id: "memory_bank_0000000e", text: "The user drank coffee", metadata: { ...fact, status: "archived" } },
  ]);
  data.file(
    "roampal_books",
    [0, 1].map((at) => ({
      id: `book_0000000f_chunk_${at}`,
      text: `chapter ${at} of the handbook`,
      metadata: {
        title: "Handbook",
        source: "handbook.md",
        chunk_index: at,
        total_chunks: 2,
        created_at: "2025-03-01T10:00:00",
      },
    })),
  );
  data.file("roampal_books", [{ id: "book_000000ff_chunk_0", text: "a removed one", metadata: { title: "Gone" } }]);
  data.file("somebody_elses", [{ id: "x", text: "of no concern" }]);
  writeFileSync(join(data.dir, "ghost_ids.json"), '{"ghost_ids":["book_000000ff_chunk_0"]}');
  writeFileSync(join(data.dir, "somebody.json"), "{}");
  mkdirSync(join(data.dir, "mcp_sessions"));
}

type Answer = Record<string, unknown>;

async function bring(palace: TestPalace, dir: string, ...more: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await palace.run("palace", ["outcome", "import", dir, "--json", ...more]);
  if (code !== 0) expect.fail(stderr);
  return JSON.parse(stdout) as Answer;
}

async function why(palace: TestPalace, id: string): Promise<Answer> {
  return JSON.parse((await palace.run("palace", ["outcome", "why", id, "--json"])).stdout) as Answer;
}

/** Returns the bytes and times of all files below a folder. */
function stateOf(dir: string): string {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const hash = createHash("sha256");
  for (const file of files) {
    const path = join(file.parentPath, file.name);
    hash.update(`${path} ${statSync(path).mtimeMs}`);
    if (file.isFile()) hash.update(readFileSync(path));
  }
  return hash.digest("hex");
}

test("every memory in a Roampal folder is imported once, with its outcomes, and the folder stays unchanged", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  const before = stateOf(data.dir);
  const dry = await bring(palace, data.dir, "--dry-run");
  expect(dry).toMatchObject({ dryRun: true, added: 7, unchanged: 0 });
  expect((await why(palace, "working_0000000a"))["found"]).toBeUndefined();

  const first = await bring(palace, data.dir);
  expect(first).toEqual({
    ...{ ...WHOLE, dir: data.dir, dryRun: false, memories: 7, added: 7, updated: 0, unchanged: 0, ghosts: 1 },
    notUsed: { collections: [{ name: "somebody_elses", rows: 1 }], files: ["mcp_sessions", "somebody.json"] },
  });
  expect(await why(palace, "working_0000000a")).toMatchObject({
    ...{ wing: "roampal", room: "working", text: "the deploy wants a longer timeout" },
    ...{ score: 0.85, uses: 4, successes: 3.5 },
    outcomes: [{ at: "2026-01-02T00:00:00.000Z", outcome: "worked", reason: "fast" }],
  });
  expect(await why(palace, "memory_bank_0000000e")).toMatchObject({ room: "archive", score: 1 });
  const stats = JSON.parse((await palace.run("palace", ["outcome", "stats", "--json"])).stdout) as Answer;
  expect(stats).toMatchObject({
    ...{ archived: 1, collections: { working: 1, history: 1, patterns: 1, memory_bank: 1, books: 2 } },
  });
  expect((await palace.run("palace", ["outcome", "books"])).stdout).toContain("Handbook\t2 chunks");

  expect(await bring(palace, data.dir)).toMatchObject({ ...WHOLE, added: 0, updated: 0, unchanged: 7, ghosts: 1 });
  const again = await palace.run("palace", ["outcome", "import", data.dir]);
  expect(again.stdout).toContain("nothing to do");
  expect(again.stdout).toContain(`not used here, still in ${data.dir}: mcp_sessions, somebody.json`);
  expect(stateOf(data.dir)).toBe(before);
});

test("a second import keeps memories scored here, updates memories changed only in the folder, and skips removed memories", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  await bring(palace, data.dir);
  await palace.run("palace", ["outcome", "score", "history_0000000b", "worked"]);
  await palace.run("palace", ["outcome", "remove", "Handbook"]);
  data.file("roampal_patterns", [
    { id: "patterns_0000000c", text: "pin the compiler", metadata: { score: 0.6, uses: 10, success_count: 9 } },
  ]);
  data.file("roampal_history", [
    { id: "history_0000000b", text: "rebase before merging", metadata: { score: 0.1, uses: 7 } },
  ]);
  expect(await bring(palace, data.dir)).toMatchObject({
    ...{ added: 0, updated: 1, kept: ["history_0000000b"], gone: ["book_0000000f_chunk_0", "book_0000000f_chunk_1"] },
  });
  expect(await why(palace, "history_0000000b")).toMatchObject({ score: 0.7, uses: 1 });
  expect(await why(palace, "patterns_0000000c")).toMatchObject({ score: 0.6, uses: 10, successes: 9 });
});

test("undo by the import's client name reverts an import, and the import can be repeated", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  await bring(palace, data.dir);
  const undo = ["undo", "--client", "palace outcome import", "--since", "1h", "--yes"];
  expect((await palace.run("palace", undo)).code).toBe(0);
  await using shim = await palace.shim();
  expect(await listDrawers(shim, "drawer_id")).toEqual([]);
  expect(await bring(palace, data.dir)).toMatchObject({ ...WHOLE, added: 7, ghosts: 1 });
});

/** More memories than an import sends in two calls. */
const MANY = Array.from({ length: 250 }, (_, at) => {
  const id = `history_0001${at.toString(16).padStart(4, "0")}`;
  return { id, text: `number ${at} of many`, metadata: { score: 0.5 + at / 1000, created_at: ago(HOUR_MS) } };
});

test("an import that is killed half-way is complete after a second run, and leaves no copy behind", async () => {
  using data = createRoampalData();
  using temporary = mkdtempDisposableSync(join(tmpdir(), "copies-"));
  await using palace = createTestPalace({ env: { TMPDIR: temporary.path } });
  const copies = (): number => readdirSync(temporary.path).filter((name) => name.startsWith("palace-roampal-")).length;
  data.file("roampal_history", MANY);
  const killed = await palace.run("palace", ["outcome", "import", data.dir], {
    env: { MEMPALACE_FAULT: "import.after-part:2" },
  });
  expect([killed.code, copies()]).toEqual([null, 1]);
  expect(await bring(palace, data.dir)).toMatchObject({ ...WHOLE, added: 50, unchanged: 200 });
  expect(copies()).toBe(0);
  expect(await bring(palace, data.dir)).toMatchObject({ ...WHOLE, added: 0, unchanged: 250 });
  expect(await why(palace, "history_000100f9")).toMatchObject({ score: 0.749 });
});

test.each(["commit.before-commit:2", "commit.after-sync:2", "acknowledge.before-reply:2"])(
  "a broker that is killed at %s during an import loses no memory, and files no memory twice",
  async (fault) => {
    await using palace = createTestPalace();
    using data = createRoampalData();
    data.file("roampal_history", MANY);
    const broker = await palace.startBroker({ MEMPALACE_FAULT: fault });
    const first = await bring(palace, data.dir);
    expect(broker.signalCode).toBe("SIGKILL");
    expect(first).toMatchObject({ ...WHOLE, added: 250, unchanged: 0 });
    await using shim = await palace.shim();
    expect((await listDrawers(shim, "drawer_id")).toSorted()).toEqual(MANY.map(({ id }) => id));
    expect(await bring(palace, data.dir)).toMatchObject({ ...WHOLE, added: 0, unchanged: 250 });
  },
);

test("each unusual memory of a folder is imported unchanged, or named in the report", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  await using shim = await palace.shim();
  const { drawer_id: taken } = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "a note" });
  const long = "i".repeat(300);
  data.file("roampal_history", [
    {
      id: "../../etc/passwd",
      text: "one with a path",
      metadata: { score: "high", uses: -3, outcome_history: "{", created_at: ago(0) },
    },
    {
      id: "history_0000aaaa",
      text: "one of a megabyte",
      metadata: { big: "b".repeat(1_000_000), created_at: 7, wing: "w", roampal_import: "{}" },
    },
    {
      id: "history_0000bbbb",
      text: "one that counts wrong",
      metadata: { uses: 2, success_count: 1e300, score: 7, last_used: "soon", tags: ["a", "b"] },
    },
    { id: "history_0000cccc", text: "  " },
    { id: String(taken), text: "one with a note's id" },
    { id: long, text: "one with a long id" },
  ]);
  data.file("roampal_working", [
    { id: "working_0000aaaa", text: "one of a megabyte" },
    { id: "working_0000bbbb", text: "another one with these digits" },
    { id: "working_0000cccc", text: "one of the day before yesterday", metadata: { created_at: ago(48 * HOUR_MS) } },
  ]);
  data.file("roampal_memory_bank", [
    { id: "memory_bank_0000dddd", text: "fact", metadata: { importance: "high", confidence: [], status: 1 } },
  ]);
  const first = await bring(palace, data.dir);
  expect(first).toMatchObject({
    ...{ added: 6, overdue: 1, repeated: 1, kept: [], gone: [] },
    refused: [
      { id: "history_0000cccc", why: "it contains no text" },
      { id: String(taken), why: "its id belongs to a drawer in w/r" },
      { id: long, why: "its id has not 1 to 200 characters" },
    ],
  });
  // The overdue memory working_0000cccc may be deleted by now.
  const again = await bring(palace, data.dir);
  expect(again).toMatchObject({ added: 0, updated: 0, repeated: 1 });
  expect(again["unchanged"] === 6 || String(again["gone"]) === "working_0000cccc", JSON.stringify(again)).toBe(true);
  expect(await why(palace, "../../etc/passwd")).toMatchObject({ room: "history", score: 0.5, uses: 0 });
  expect(await why(palace, "history_0000aaaa")).toMatchObject({ wing: "roampal", text: "one of a megabyte" });
  expect(await why(palace, "history_0000bbbb")).toMatchObject({ score: 0.5, uses: 2, successes: 2 });
  expect(await why(palace, "working_0000bbbb")).toMatchObject({ room: "working" });
  const client = await palace.client();
  const read = (id: string): Promise<unknown> => client.callTool("search_memory", { id });
  expect(await read("../../etc/passwd")).toMatchObject({ text: expect.stringContaining("one with a path") });
  expect(await read("memory_bank_0000dddd")).toMatchObject({ text: expect.stringContaining("imp:0.9, conf:0.7") });
  client.close();
  await palace.run("palace", ["outcome", "score", "../../etc/passwd", "worked"]);
  expect(await why(palace, "../../etc/passwd")).toMatchObject({ score: 0.7, uses: 1 });
});

test("a database that a Roampal has open is read with its write-ahead log, and not changed", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  data.file("roampal_history", MANY.slice(0, 2));
  const roampal = new Database(join(data.dir, "chromadb/chroma.sqlite3"));
  roampal.pragma("journal_mode = WAL");
  roampal.pragma("wal_autocheckpoint = 0");
  data.file("roampal_history", MANY.slice(2, 5));
  const before = stateOf(data.dir);
  expect(await bring(palace, data.dir)).toMatchObject({ added: 5 });
  expect(stateOf(data.dir)).toBe(before);
  roampal.close();
});

test("the import uses the folder of its argument, else of ROAMPAL_DATA_PATH, else Roampal's own default folder", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  const usual = join(palace.home, ".local/share/roampal/data");
  const none = await palace.run("palace", ["outcome", "import"]);
  expect(none).toMatchObject({ code: 2, stdout: "" });
  expect(none.stderr).toContain(`there is no Roampal data in ${usual}`);
  expect(none.stderr).toContain("name its folder");
  cpSync(data.dir, usual, { recursive: true });
  expect(await bring(palace, "--dry-run")).toMatchObject({ dir: usual, added: 7 });
  const env = { ROAMPAL_DATA_PATH: data.dir };
  const { stdout } = await palace.run("palace", ["outcome", "import", "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject({ dir: data.dir, added: 7 });
});

function contentsOf(dir: string): Map<string, CarriedMemory> {
  const folder = new RoampalFolder(dir);
  try {
    return new Map([...folder.memories()].map((memory) => [memory.id, memory]));
  } finally {
    folder.close();
  }
}

const exportTo = async (palace: TestPalace, dir: string): Promise<Answer> => {
  const { code, stdout, stderr } = await palace.run("palace", ["outcome", "export", dir, "--json"]);
  if (code !== 0) expect.fail(stderr);
  return JSON.parse(stdout) as Answer;
};

test("an export has imported memories unchanged, and also memories made here", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  data.file("roampal_history", MANY);
  await bring(palace, data.dir);
  const back = join(palace.home, "back/data");
  expect(await exportTo(palace, back)).toEqual({ dir: back, memories: 257, entries: 0, others: 0 });
  expect(contentsOf(back)).toEqual(contentsOf(data.dir));
  expect(readdirSync(back)).toEqual(["chromadb"]);
  expect(await bring(palace, back)).toMatchObject({ ...WHOLE, added: 0, updated: 0, unchanged: 257 });

  const client = await palace.client();
  await client.callTool("record_response", { key_takeaway: "tea wants four minutes", initial_score: "worked" });
  const words = { content: "The user lives by the sea", tags: ["identity"], importance: 0.6, confidence: 0.9 };
  await client.callTool("add_to_memory_bank", { ...words, always_inject: true });
  await client.callTool("mempalace_add_drawer", { wing: "roampal", room: "history", content: "no memory" });
  client.close();
  for (let times = 0; times < 2; times++)
    await palace.run("palace", ["outcome", "score", "working_0000000a", "worked"]);
  const more = join(palace.home, "more");
  mkdirSync(more);
  expect(await exportTo(palace, more)).toEqual({ dir: more, memories: 259, entries: 0, others: 1 });
  const contents = contentsOf(more);
  const moved = contents.get("patterns_0000000a");
  expect(moved).toMatchObject({ collection: "patterns", metadata: { score: 1, uses: 6, success_count: 5.5 } });
  expect(moved?.metadata).toMatchObject({ room: "kitchen", promoted_from: "history", last_outcome: "worked" });
  expect(JSON.parse(String(moved?.metadata["outcome_history"]))).toEqual([
    { outcome: "worked", timestamp: "2026-01-02T00:00:00.000", reason: "fast" },
    { outcome: "worked", timestamp: expect.stringMatching(/^[\d-]+T[\d:.]+$/) as unknown, reason: null },
    { outcome: "worked", timestamp: moved?.metadata["last_used"], reason: null },
  ]);
  const fact = [...contents.values()].find(({ text }) => text === words.content);
  expect(fact?.metadata).toMatchObject({
    ...{ text: words.content, content: words.content, tags: '["identity"]', importance: 0.6, confidence: 0.9 },
    ...{ status: "active", always_inject: true, score: 1, uses: 0, success_count: 0 },
  });
  expect(Object.keys(fact?.metadata ?? {})).not.toContain("wing");
  expect(fact?.metadata["created_at"]).toMatch(/^[\d-]+T[\d:.]+$/);

  await using other = createTestPalace();
  expect(await bring(other, more)).toMatchObject({ ...WHOLE, added: 259 });
  const third = join(other.home, "third");
  await exportTo(other, third);
  expect(contentsOf(third)).toEqual(contents);
});

test("an export refuses a folder that is not empty, and a killed export does not create the target folder", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  data.file("roampal_history", MANY);
  await bring(palace, data.dir);
  const before = stateOf(data.dir);
  const refused = await palace.run("palace", ["outcome", "export", data.dir]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`${data.dir} is not empty`);
  expect(stateOf(data.dir)).toBe(before);
  const dir = join(palace.home, "out/data");
  for (const fault of ["outcome-export.after-page:2", "files.before-commit:7", "outcome-export.before-rename"]) {
    const { code } = await palace.run("palace", ["outcome", "export", dir], { env: { MEMPALACE_FAULT: fault } });
    expect(code).toBeNull();
    expect(existsSync(dir)).toBe(false);
  }
  expect(await exportTo(palace, dir)).toMatchObject({ memories: 250 });
  expect(readdirSync(join(palace.home, "out"))).toEqual(["data"]);
  expect(contentsOf(dir)).toEqual(contentsOf(data.dir));
});
