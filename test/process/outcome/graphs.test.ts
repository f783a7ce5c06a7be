import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { CARRIED_ENTRIES_MAX, CARRIED_LEVELS_MAX } from "../../../src/protocol/limits.ts";
import { filesHolding } from "../../helpers/bytes.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createRoampalData, type RoampalData } from "../../helpers/roampal-folder.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const AT = new Date().toISOString().slice(0, -1);
const DOC = "working_0000000a";
const SIGNATURE = "deploy_timeout_zeppelin";

/** Graph file as Roampal 0.3.6.1 writes it, with extra entries that no version of Roampal writes. */
const KNOWLEDGE = {
  routing_patterns: {
    zeppelin: { collections_used: { working: { successes: 2, failures: 0, total: 2 } }, best_collection: "working" },
    docker: { collections_used: {}, best_collection: "history", success_rate: 0.5 },
    legacy: "patterns",
  },
  success_rates: {},
  failure_patterns: { "it was the paper": [{ doc_id: "history_0000000b", problem_text: "why does it fail" }] },
  problem_categories: { deploy_timeout: [DOC, "history_0000000b"] },
  problem_solutions: { [SIGNATURE]: [DOC] },
  solution_patterns: {
    [`${SIGNATURE}::${DOC}`]: {
      ...{ problem_text: "Why does the Zeppelin deploy time out?", solution_text: "wants a longer timeout" },
      ...{ successes: 2, failures: 0, success_rate: 1.5 },
    },
    [`${DOC}::deploy_timeout`]: { doc_id: DOC, uses: 1 },
  },
  context_action_effectiveness: { "general|score_memories|working": { examples: [{ doc_id: DOC }] } },
  relationships: { "deploy|zeppelin": { co_occurrence: 2, success_together: 2, failure_together: 0 } },
  of_tomorrow: { "": null, a: [1, { b: "ü🙂\u0000" }] },
  a_list: [1, 2],
  a_word: "x",
};
const CONTENT = {
  entities: { tea: { mentions: 1, documents: ["memory_bank_0000000d"] } },
  relationships: {},
  metadata: { version: "0.2.0", total_entities: 1 },
};
const RELATED = { related: {}, evolution: { [DOC]: [{ from: DOC, to: "history_0000000b" }] }, conflicts: {} };
const ENTRIES = 22;

const KNOWLEDGE_FILE = "knowledge_graph.json";
const FILES = { [KNOWLEDGE_FILE]: KNOWLEDGE, "content_graph.json": CONTENT, "memory_relationships.json": RELATED };

function fill(data: RoampalData, files: Record<string, unknown> = FILES): void {
  data.file("roampal_working", [{ id: DOC, text: "the deploy wants a longer timeout", metadata: { created_at: AT } }]);
  data.file("roampal_history", [
    { id: "history_0000000b", text: "rebase before merging", metadata: { created_at: AT } },
  ]);
  data.file("roampal_memory_bank", [{ id: "memory_bank_0000000d", text: "The user drinks tea" }]);
  for (const [file, graph] of Object.entries(files)) write(data, file, JSON.stringify(graph, null, 2));
}

const write = (data: RoampalData, file: string, text: string | Buffer): void =>
  writeFileSync(join(data.dir, file), text);

type Answer = Record<string, unknown>;

async function says(palace: TestPalace, ...args: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await palace.run("palace", [...args, "--json"]);
  if (code !== 0) expect.fail(stderr);
  return JSON.parse(stdout) as Answer;
}

const bring = async (palace: TestPalace, dir: string, ...more: string[]): Promise<Answer> =>
  (await says(palace, "outcome", "import", dir, ...more))["graphs"] as Answer;

let exports = 0;
/** Exports into a new folder and returns the graphs by the name of their file. */
async function back(palace: TestPalace): Promise<Answer> {
  const dir = join(palace.home, `back-${(exports += 1)}`);
  await says(palace, "outcome", "export", dir);
  const files = readdirSync(dir).filter((name) => name.endsWith(".json"));
  return Object.fromEntries(files.map((file) => [file, JSON.parse(readFileSync(join(dir, file), "utf8"))]));
}

const NOTHING = { added: 0, updated: 0, unchanged: 0, refused: [], unread: [] };

test("the graphs of a Roampal folder are imported once, entry by entry, and exported unchanged", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  const whole = { ...NOTHING, entries: ENTRIES, added: ENTRIES };
  expect(await bring(palace, data.dir, "--dry-run")).toEqual(whole);
  expect(await back(palace)).toEqual({});
  const told = await palace.run("palace", ["outcome", "import", data.dir]);
  expect(told.stdout).toContain(`${ENTRIES} graph entries added, 0 brought up to date`);
  expect(told.stdout).not.toContain("not used here");
  expect(await back(palace)).toEqual(FILES);
  expect(await bring(palace, data.dir)).toEqual({ ...NOTHING, entries: ENTRIES, unchanged: ENTRIES });

  const changed = JSON.parse(JSON.stringify(KNOWLEDGE)) as Record<string, Record<string, unknown>>;
  Object.assign(changed["routing_patterns"] ?? {}, { docker: { best_collection: "books" }, new_one: {} });
  Object.assign(changed["success_rates"] ?? {}, { working: { total: 1 } });
  fill(data, { [KNOWLEDGE_FILE]: changed });
  expect(await bring(palace, data.dir)).toMatchObject({ added: 2, updated: 1, unchanged: ENTRIES - 2 });
  expect(await back(palace)).toEqual({ ...FILES, [KNOWLEDGE_FILE]: changed });
});

test("unusual numbers and names in a graph are exported as they were written", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data, {});
  const big = "b".repeat(1_000_000);
  write(
    data,
    KNOWLEDGE_FILE,
    `{"__proto__":{"__proto__":{"x":1},"constructor":12345678901234567890},"routing_patterns":{"a":1.0,"b":[1e400,-0.0],"${big}":"${big}"},"1.0":2.50}`,
  );
  write(data, "content_graph.json", "{}");
  expect(await bring(palace, data.dir)).toMatchObject({ entries: 7, added: 7 });
  const dir = join(palace.home, "exact");
  await says(palace, "outcome", "export", dir);
  expect(readFileSync(join(dir, KNOWLEDGE_FILE), "utf8").replaceAll(/\s/g, "")).toBe(
    `{"1.0":2.50,"__proto__":{"__proto__":{"x":1},"constructor":12345678901234567890},"routing_patterns":{"a":1.0,"b":[1e400,-0.0],"${big}":"${big}"}}`,
  );
  expect(readFileSync(join(dir, "content_graph.json"), "utf8")).toBe("{}\n");
  expect(await bring(palace, dir)).toEqual({ ...NOTHING, entries: 7, unchanged: 7 });
});

test("an import names a graph file that it cannot read, and imports all memories and the other graphs", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  write(data, KNOWLEDGE_FILE, '{"routing_patterns": {"a": ');
  write(data, "content_graph.json", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]));
  const first = await says(palace, "outcome", "import", data.dir);
  expect(first).toMatchObject({ added: 3, graphs: { entries: 3, added: 3 } });
  const why = expect.stringMatching(/^it cannot be read: /) as unknown;
  expect((first["graphs"] as Answer)["unread"]).toEqual([
    { file: KNOWLEDGE_FILE, why },
    { file: "content_graph.json", why },
  ]);
  expect(await back(palace)).toEqual({ "memory_relationships.json": RELATED });

  const deep = `${"[".repeat(CARRIED_LEVELS_MAX + 1)}${"]".repeat(CARRIED_LEVELS_MAX + 1)}`;
  const large = "x".repeat(8 * 1024 ** 2);
  write(data, KNOWLEDGE_FILE, `{"routing_patterns":{"deep":${deep},"large":"${large}","good":1},"a":${"[".repeat(9)}`);
  write(data, "content_graph.json", "[]");
  expect(await bring(palace, data.dir)).toMatchObject({ added: 0, unread: [{}, { why: "it is not a JSON object" }] });
  write(data, KNOWLEDGE_FILE, `{"routing_patterns":{"deep":${deep},"large":"${large}","good":1}}`);
  write(data, "content_graph.json", `{"a":"${"x".repeat(64 * 1024 ** 2)}"}`);
  expect(await bring(palace, data.dir)).toEqual({
    ...{ entries: 6, added: 1, updated: 0, unchanged: 3 },
    refused: [
      { entry: `${KNOWLEDGE_FILE}: routing_patterns: deep`, why: "it has more than 100 levels" },
      { entry: `${KNOWLEDGE_FILE}: routing_patterns: large`, why: "it has more than 8 MiB" },
    ],
    unread: [{ file: "content_graph.json", why: "it has more than 32 MiB" }],
  });
  const told = await palace.run("palace", ["outcome", "import", data.dir]);
  expect(told.stdout).toContain("content_graph.json not imported: it has more than 32 MiB");
});

test("an import that is killed between two parts of a graph is complete after a second run", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  const count = 2 * CARRIED_ENTRIES_MAX + 7;
  const routing_patterns = Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, { total: at }]));
  fill(data, { [KNOWLEDGE_FILE]: { routing_patterns } });
  // Starts the broker first, so that the fault kills only the importing process.
  await palace.startBroker();
  const fault = { env: { MEMPALACE_FAULT: "import.after-part:3" } };
  const killed = await palace.run("palace", ["outcome", "import", data.dir], fault);
  expect(killed.code, killed.stderr).toBeNull();
  expect(await bring(palace, data.dir)).toMatchObject({
    ...{ entries: count, added: 7, unchanged: 2 * CARRIED_ENTRIES_MAX },
  });
  expect(await back(palace)).toEqual({ [KNOWLEDGE_FILE]: { routing_patterns } });
});

test("a broker killed before it answers loses no entry, and an export killed between pages leaves no file", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  const relationships = Object.fromEntries(Array.from({ length: 2_500 }, (_, at) => [`a|b${at}`, at]));
  fill(data, { [KNOWLEDGE_FILE]: { relationships } });
  const broker = await palace.startBroker({ MEMPALACE_FAULT: "acknowledge.before-reply:3" });
  expect(await bring(palace, data.dir)).toEqual({ ...NOTHING, entries: 2_500, added: 2_500 });
  expect(broker.signalCode).toBe("SIGKILL");
  const fault = { env: { MEMPALACE_FAULT: "outcome-export.after-page:3" } };
  const dir = join(palace.home, "killed");
  expect((await palace.run("palace", ["outcome", "export", dir], fault)).code).toBeNull();
  expect(existsSync(dir)).toBe(false);
  expect(await back(palace)).toEqual({ [KNOWLEDGE_FILE]: { relationships } });
});

test("a backup brings graphs to another palace", async () => {
  await using palace = createTestPalace();
  await using other = createTestPalace();
  using data = createRoampalData();
  fill(data);
  await bring(palace, data.dir);
  const file = join(palace.home, "palace.tar");
  await says(palace, "backup", file);
  expect((await other.run("palace", ["restore", file, "--yes"])).code).toBe(0);
  expect(await back(other)).toEqual(FILES);
});

test("an agent's token may not import or export a graph", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  const { token } = await says(palace, "token", "add", "box", "--role", "agent");
  const there = { MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: String(token) };
  const config = loadConfig({ HOME: join(palace.home, "else"), ...there });
  const agent = await connectClient({ config, agent: "box", start: "never" });
  const denied = { code: "BROKER_DENIED" };
  await expect(agent.call("outcome.exportGraph", { after: "" })).rejects.toMatchObject(denied);
  await expect(agent.call("outcome.importGraph", { entries: [], isDry: true })).rejects.toMatchObject(denied);
  agent.close();
});

test("undo of an import removes the imported graph entries, and a new import adds them again", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  const undo = ["undo", "--client", "palace outcome import", "--since", "1h", "--yes"];
  await bring(palace, data.dir);
  const plan = await says(palace, ...undo, "--dry-run");
  const items = plan["items"] as { kind: string; id: string }[];
  expect(items.filter(({ kind }) => kind === "carried").map(({ id }) => id)).toEqual(Object.keys(FILES));
  expect(await says(palace, ...undo)).toMatchObject({ removed: 3 + ENTRIES, refused: 0 });
  expect(await back(palace)).toEqual({});
  expect(await bring(palace, data.dir)).toMatchObject({ added: ENTRIES });
  expect(await back(palace)).toEqual(FILES);
});

test("forget removes entries that name a forgotten memory or contain its text, also from before-images and from every file", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  await bring(palace, data.dir);
  const { solution_patterns: _, ...others } = KNOWLEDGE;
  fill(data, { [KNOWLEDGE_FILE]: { ...others, solution_patterns: {} } });
  expect(await bring(palace, data.dir)).toMatchObject({ added: 1 });
  const dry = await says(palace, "forget", "--match", "Zeppelin deploy", "--dry-run");
  expect(dry).toMatchObject({ total: 0, carried: 6 });
  expect(await says(palace, "forget", "--match", "Zeppelin deploy", "--yes")).toMatchObject({ carried: 6 });
  for (const words of ["zeppelin", "Zeppelin"])
    expect(filesHolding(join(palace.home, ".mempalace"), words)).toEqual([]);
  expect(await back(palace)).toEqual({
    ...FILES,
    [KNOWLEDGE_FILE]: {
      ...KNOWLEDGE,
      ...{ problem_categories: undefined, problem_solutions: undefined, solution_patterns: {} },
      routing_patterns: { docker: KNOWLEDGE.routing_patterns.docker, legacy: "patterns" },
      relationships: undefined,
    },
  });

  // `forget` also removes entries with the id that the memory had in its former collection.
  expect(await says(palace, "forget", "patterns_0000000b", "--yes")).toMatchObject({ carried: 2 });
  expect(filesHolding(join(palace.home, ".mempalace"), "it was the paper")).toEqual([]);
  expect(Object.keys((await back(palace))[KNOWLEDGE_FILE] as Answer)).not.toContain("failure_patterns");
});

test("an exported entry names a moved memory by the id that the memory has in the export", async () => {
  await using palace = createTestPalace();
  using data = createRoampalData();
  fill(data);
  await bring(palace, data.dir);
  for (let times = 0; times < 2; times++) await palace.run("palace", ["outcome", "score", DOC, "worked"]);
  const moved = JSON.parse(JSON.stringify(FILES).replaceAll(DOC, "history_0000000a")) as Answer;
  expect(await back(palace)).toEqual(moved);
  using again = createRoampalData();
  fill(again, { [KNOWLEDGE_FILE]: moved[KNOWLEDGE_FILE] });
  expect(await bring(palace, again.dir)).toMatchObject({ added: 2 });
  const both = (await back(palace))[KNOWLEDGE_FILE] as typeof KNOWLEDGE;
  expect(Object.keys(both.solution_patterns)).toHaveLength(4);
});
