import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { IDEMPOTENCY_META } from "../../../src/protocol/headers.ts";
import { Spool } from "../../../src/wire/client/spool.ts";
import { appliedTwice } from "../../helpers/journal-rows.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const note = (index: number, who = "one"): Record<string, string> => ({
  wing: "spool",
  room: who,
  content: `${who} writes ${index}`,
});

/** Returns an agent's diary entries. An entry that is delivered twice would exist twice. */
async function entries(palace: TestPalace, agent: string): Promise<string[]> {
  const client = await palace.client();
  const found = (await client.callTool("mempalace_diary_read", { agent_name: agent, last_n: 100 })) as {
    entries: { content: string }[];
    total?: number;
  };
  client.close();
  expect(found.entries.length).toBe(found.total ?? 0);
  return found.entries.map(({ content }) => content).sort();
}

/** Returns the drawers' texts in the order of their filing. */
async function contents(palace: TestPalace): Promise<string[]> {
  const client = await palace.client();
  const { total } = (await client.callTool("mempalace_list_drawers", { wing: "spool" })) as { total: number };
  client.close();
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const found = ledger.prepare<[], string>("SELECT text FROM drawer WHERE wing = 'spool' ORDER BY row").pluck().all();
  ledger.close();
  expect(found).toHaveLength(total);
  return found;
}

/** Returns the names of the spool files, without the files that a killed process left half written. */
const files = (palace: TestPalace): string[] =>
  existsSync(palace.config.paths.spoolDir)
    ? readdirSync(palace.config.paths.spoolDir).filter((name) => !name.endsWith(".tmp"))
    : [];

test("an agent's writes are delivered in order and once after the broker was stopped by hand", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const earlier = await palace.shim();
  const tools = await earlier.request("tools/list", {});
  await earlier.close();
  await palace.run("palace", ["stop"]);
  const shim = await palace.shim();
  expect(await shim.request("tools/list", {})).toEqual(tools);
  for (let index = 0; index < 5; index++)
    expect(await shim.call("mempalace_add_drawer", note(index))).toMatchObject({ success: true, spooled: true });
  await expect(shim.call("mempalace_search", { query: "writes" })).rejects.toThrow("stopped by hand");
  await expect(shim.call("mempalace_add_drawer", { wing: "spool" })).rejects.toThrow("Missing required parameters");
  expect(files(palace).length).toBe(5);
  const listed = await palace.run("palace", ["spool", "list"]);
  expect(listed.stdout.trim().split("\n").length).toBe(5);
  expect((await palace.run("palace", ["doctor"])).stdout).toContain("5 writes waiting for a broker");

  await palace.run("palace", ["start"]);
  await expect.poll(() => files(palace), { timeout: 20_000 }).toEqual([]);
  expect(await contents(palace)).toEqual(Array.from({ length: 5 }, (_, index) => note(index)["content"]));
  // The client that started the broker may have delivered the spool before the agent's shim looks for a broker again.
  await expect.poll(() => shim.call("mempalace_status", {}).catch(String)).toMatchObject({ total_drawers: 5 });
  expect(await shim.call("mempalace_add_drawer", note(5))).not.toHaveProperty("spooled");
  expect(await shim.close()).toBe(0);
});

test("the answer to a spooled drawer has the drawer's later id; if no id recipe is known, the answer says why it has no id", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["stop"]);
  const before = await palace.shim();
  const unknown = (await before.call("mempalace_add_drawer", note(0))) as { message: string };
  expect(unknown).not.toHaveProperty("drawer_id");
  expect(unknown.message).toContain("no answer has shown");
  await before.close();
  await palace.run("palace", ["start"]);
  const shim = await palace.shim();
  await shim.call("mempalace_add_drawer", note(1));
  await palace.run("palace", ["stop"]);
  const later = await palace.shim();
  const kept = [
    { agent: shim, drawer: note(2) },
    { agent: later, drawer: { ...note(3, "two"), content: `  of many slices ${"long ".repeat(400)}` } },
  ];
  const ids: string[] = [];
  for (const { agent, drawer } of kept) {
    const answer = (await agent.call("mempalace_add_drawer", drawer)) as { drawer_id: string; spooled: boolean };
    expect(answer).toMatchObject({ spooled: true, drawer_id: expect.stringMatching(/^drawer_spool_/) as string });
    ids.push(answer.drawer_id);
  }
  const diary = (await shim.call("mempalace_diary_write", { agent_name: "one", entry: "e" })) as { message: string };
  expect(diary.message).toContain("the broker makes the ids then");
  await palace.run("palace", ["start"]);
  await expect.poll(() => files(palace), { timeout: 20_000 }).toEqual([]);
  // Asks again after an error, because the shim may need more than a second to reach the new broker.
  for (const [index, { drawer }] of kept.entries())
    await expect
      .poll(() => later.call("mempalace_get_drawer", { drawer_id: ids[index] }).catch(() => undefined), {
        timeout: 20_000,
      })
      .toMatchObject({ content: drawer["content"] });
  await shim.close();
  await later.close();
});

test("the shim without a broker refuses wrong arguments in the broker's words and spools nothing", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const wrong: [string, Record<string, unknown>][] = [
    ["mempalace_add_drawer", { wing: "..", room: "r", content: "x" }],
    ["mempalace_add_drawer", { wing: "w", room: "r", content: "   " }],
    ["mempalace_diary_write", { agent_name: "a", entry: "x", wing: "../w" }],
    ["mempalace_kg_add", { subject: "a", predicate: "/", object: "b" }],
    ["mempalace_kg_invalidate", { subject: "a", predicate: "p", object: "b", ended: "some day" }],
    ["mempalace_create_tunnel", { source_wing: "", source_room: "r", target_wing: "w", target_room: "r" }],
    ["mempalace_checkpoint", { items: "none" }],
    ["mempalace_checkpoint", { items: [{ wing: "w" }] }],
  ];
  const shim = await palace.shim();
  const ask = async ([tool, values]: [string, Record<string, unknown>]): Promise<unknown> =>
    shim.call(tool, values).catch((error: Error) => `refused: ${error.message}`);
  const answers = [];
  for (const call of wrong) answers.push(await ask(call));
  await palace.run("palace", ["stop"]);
  for (const [index, call] of wrong.entries()) expect(await ask(call), JSON.stringify(call)).toEqual(answers[index]);
  expect(files(palace)).toEqual([]);
  expect(await shim.call("mempalace_add_drawer", note(0))).toMatchObject({ spooled: true });
});

test("writes for a newer ledger wait, and are delivered when the matching version runs again", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["start"]);
  const shim = await palace.shim();
  await shim.call("mempalace_add_drawer", note(0));
  await palace.run("palace", ["stop"]);
  for (let index = 1; index < 4; index++)
    expect(await shim.call("mempalace_add_drawer", note(index))).toMatchObject({ spooled: true });
  const ofVersion = (change: number): void => {
    const ledger = new Database(palace.config.paths.ledgerFile);
    const version = ledger.pragma("user_version", { simple: true }) as number;
    ledger.pragma(`user_version = ${version + change}`);
    ledger.close();
  };
  ofVersion(1);
  await palace.run("palace", ["start"]);
  const replayed = await palace.run("palace", ["status", "spool", "replay"]);
  expect(replayed.code).not.toBe(0);
  expect(files(palace)).toHaveLength(3);
  expect((await palace.run("palace", ["status", "spool", "list"])).stdout).not.toContain("refused");
  expect(await shim.call("mempalace_add_drawer", note(4))).toMatchObject({ spooled: true });

  await palace.run("palace", ["stop"]);
  ofVersion(-1);
  await palace.run("palace", ["start"]);
  await expect.poll(() => files(palace)).toEqual([]);
  expect(await contents(palace)).toEqual(Array.from({ length: 5 }, (_, index) => note(index)["content"]));
  await shim.close();
});

test("palace status spool shows a refused write and sends it again, with other arguments on request", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["start"]);
  await palace.run("palace", ["stop"]);
  // Today's client checks arguments before it spools a write, so the test writes these files as an older client did.
  const params = { name: "mempalace_delete_drawer", arguments: { drawer_id: "nowhere" } };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const { spoolDir } = palace.config.paths;
  for (const key of ["one", "two"])
    new Spool(spoolDir).append({ atMs: Date.now(), agent: "old", tool: params.name, key, line });
  await palace.run("palace", ["start"]);
  const spool = (...args: string[]): ReturnType<TestPalace["run"]> =>
    palace.run("palace", ["status", "spool", ...args]);
  const listed = JSON.parse((await spool("--json")).stdout) as { refused: { name: string; why: string }[] };
  expect(listed.refused).toHaveLength(2);
  const [one, two] = listed.refused.map(({ name }) => name) as [string, string];
  const shown = await spool("show", one);
  expect(shown.stdout).toContain('"drawer_id": "nowhere"');
  expect(shown.stdout).toContain(listed.refused[0]?.why);

  const { drawer_id } = JSON.parse(
    (await palace.run("palace", ["call", "add_drawer", JSON.stringify(note(1)), "--json"])).stdout,
  ) as { drawer_id: string };
  for (const wrong of [
    ["show", "x"],
    ["replay", one, "[]"],
    ["replay", one.slice(0, 2)],
    ["replay", "refused", "{}"],
  ])
    expect(await spool(...wrong)).toMatchObject({ code: 2 });
  const unmended = await spool("replay", one);
  expect(unmended, unmended.stderr).toMatchObject({ code: 7 });
  expect(unmended.stdout).toContain("0 delivered, 1 refused, 0 still waiting");
  expect(await spool("replay", one, JSON.stringify({ drawer_id }))).toMatchObject({ code: 0 });
  expect(await contents(palace)).toEqual([]);
  expect(await spool("replay", "refused")).toMatchObject({ code: 7 });
  expect((await spool("list")).stdout).toContain(two);
  expect((await spool("list")).stdout).not.toContain(one);
});

test("a write that a tool refused is done when it is sent again after its drawer was filed", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["start"]);
  const call = async (tool: string, args: object): Promise<Record<string, unknown>> =>
    JSON.parse((await palace.run("palace", ["call", tool, JSON.stringify(args), "--json"])).stdout) as never;
  const { drawer_id } = await call("add_drawer", note(1));
  await call("delete_drawer", { drawer_id });
  const values = { drawer_id, content: "changed at last" };
  const params = { name: "mempalace_update_drawer", arguments: values, _meta: { [IDEMPOTENCY_META]: "one" } };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const write = { atMs: Date.now(), agent: "old", tool: params.name, key: "one", line };
  const name = new Spool(palace.config.paths.spoolDir).append(write);
  expect(await palace.run("palace", ["status", "spool", "replay"])).toMatchObject({ code: 7 });
  await call("add_drawer", note(1));
  const replayed = await palace.run("palace", ["status", "spool", "replay", name]);
  expect(replayed, replayed.stderr).toMatchObject({ code: 0 });
  expect(await contents(palace)).toEqual(["changed at last"]);
});

test("a spooled note has the date of its writing, not of its delivery", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["stop"]);
  const shim = await palace.shim();
  const entry = { agent_name: "one", entry: "made in an outage" };
  expect(await shim.call("mempalace_diary_write", entry)).toMatchObject({ spooled: true });
  await shim.close();
  const [name] = files(palace);
  const file = join(palace.config.paths.spoolDir, String(name));
  const twoDaysAgo = Date.now() - 2 * 86_400_000;
  const kept = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...kept, atMs: twoDaysAgo }));
  await palace.run("palace", ["start"]);
  const client = await palace.client();
  const { entries } = (await client.callTool("mempalace_diary_read", { agent_name: "one" })) as {
    entries: { date: string; content: string }[];
  };
  const day = new Date(twoDaysAgo - new Date(twoDaysAgo).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  expect(entries).toMatchObject([{ date: day, content: "made in an outage" }]);
  client.close();
});

test("a paused broker (SIGSTOP) makes no agent wait for long, and does nothing twice when it continues", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  const url = `unix:${palace.config.paths.socketPath}`;
  const shim = await palace.shim({ MEMPALACE_BROKER: url });
  await shim.call("mempalace_add_drawer", note(0));
  broker.kill("SIGSTOP");
  const writes = [1, 2, 3].map((index) => shim.call("mempalace_add_drawer", note(index)));
  writes.push(shim.call("mempalace_diary_write", { agent_name: "held", entry: "while it was held" }));
  const reading = shim.call("mempalace_search", { query: "writes" });
  for (const answer of await Promise.all(writes)) expect(answer).toMatchObject({ spooled: true });
  await expect(reading).rejects.toThrow(/no broker/);
  broker.kill("SIGCONT");
  await expect.poll(() => files(palace), { timeout: 20_000 }).toEqual([]);
  expect(await contents(palace)).toEqual([0, 1, 2, 3].map((index) => note(index)["content"]));
  expect(await entries(palace, "held")).toEqual(["while it was held"]);
  await shim.close();
});

test("each write exists once although agents are killed while they spool writes, and brokers while they get spooled writes", async () => {
  await using palace = createTestPalace();
  // A spooled drawer gets an id only if an earlier answer on this machine showed the palace's id recipe.
  const first = await palace.shim();
  await first.call("mempalace_add_drawer", note(0, "first"));
  await expect.poll(() => readdirSync(palace.config.paths.stateDir).join()).toContain("id-recipe-");
  await first.close();
  await palace.run("palace", ["stop"]);
  const acknowledged = new Set<string>();
  const noted = new Set<string>();
  /** Map from text to the room into which the drawer was moved. */
  const moved = new Map<string, string>();
  for (let round = 0; round < 4; round++) {
    const shim = await palace.shim();
    let killed = false;
    const writer = (async () => {
      for (let index = 0; !killed; index++) {
        const one = note(index, `round${round}`);
        const { drawer_id: id } = await shim.call("mempalace_add_drawer", one);
        acknowledged.add(String(one["content"]));
        if (index % 4 === 3) {
          await shim.call("mempalace_update_drawer", { drawer_id: id, room: `moved-${round}-${index}` });
          moved.set(String(one["content"]), `moved-${round}-${index}`);
        }
        if (index % 4 !== 1) continue;
        await shim.call("mempalace_diary_write", {
          agent_name: `round${round}`,
          entry: `round${round} notes ${index}`,
        });
        noted.add(`round${round} notes ${index}`);
      }
    })();
    const before = acknowledged.size;
    await expect.poll(() => acknowledged.size, { interval: 1 }).toBeGreaterThan(before + 20);
    killed = true;
    process.kill(shim.pid, "SIGKILL");
    await writer.catch(() => {});
    await shim.close();
  }
  const total = files(palace).length;
  expect(total).toBeGreaterThanOrEqual(acknowledged.size);
  await palace.run("mempalace-broker", ["--ensure"]);
  // Two clients deliver at the same time, and the broker is killed meanwhile.
  const both = Promise.all([palace.run("palace", ["spool", "replay"]), palace.run("palace", ["spool", "replay"])]);
  await expect.poll(() => files(palace).length, { interval: 1, timeout: 20_000 }).toBeLessThan(total - 5);
  process.kill(readBrokerFile(palace.config.paths.brokerFile)?.pid ?? 0, "SIGKILL");
  await both;
  await palace.run("palace", ["spool", "replay"]);
  expect(files(palace)).toEqual([]);
  const found = await contents(palace);
  expect(new Set(found).size).toBe(found.length);
  expect([...acknowledged].filter((one) => !found.includes(one))).toEqual([]);
  for (let round = 0; round < 4; round++) {
    const own = await entries(palace, `round${round}`);
    expect(new Set(own).size, "a diary entry twice").toBe(own.length);
    expect([...noted].filter((one) => one.startsWith(`round${round} `) && !own.includes(one))).toEqual([]);
  }
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  expect(appliedTwice(ledger)).toEqual([]);
  const roomOf = ledger.prepare<[string], string>("SELECT room FROM drawer WHERE text = ?").pluck();
  expect(moved.size).toBeGreaterThan(4);
  expect([...moved].filter(([text, room]) => roomOf.get(text) !== room)).toEqual([]);
  ledger.close();
  // The writes of each agent are in the order in which the agent made them.
  for (let round = 0; round < 4; round++) {
    const own = found.filter((one) => one.startsWith(`round${round} `)).map((one) => Number(one.split(" ").at(-1)));
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }
});

test("a spooled write that the broker refuses for good is set aside, and later writes are filed", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["stop"]);
  const shim = await palace.shim();
  await shim.call("mempalace_add_drawer", note(0));
  await shim.call("mempalace_delete_drawer", { drawer_id: "drawer_that_never_was" });
  await shim.call("mempalace_add_drawer", note(1));
  await shim.close();
  // Does not use `palace start`, which delivers the spool itself.
  await palace.startBroker();
  const { stdout } = await palace.run("palace", ["spool", "replay", "--json"]);
  expect(JSON.parse(stdout)).toEqual({ delivered: 2, refused: 1, waiting: 0 });
  const listed = JSON.parse((await palace.run("palace", ["spool", "list", "--json"])).stdout) as {
    refused: { tool: string; why: string }[];
  };
  expect(listed.refused).toMatchObject([{ tool: "mempalace_delete_drawer" }]);
  expect(listed.refused[0]?.why).toContain("not found");
  const aside = join(palace.config.paths.spoolDir, "refused");
  expect(statSync(aside).mode & 0o777).toBe(0o700);
  expect((await contents(palace)).length).toBe(2);
  // Marks the spool as if older refused writes had been dropped.
  writeFileSync(join(aside, "older-ones-dropped.txt"), "");
  expect((await palace.run("palace", ["spool", "list"])).stderr).toMatch(/older ones were dropped .* ago\n/);
  expect((await palace.run("palace", ["doctor"])).stdout).toMatch(/1 spooled write refused .*older ones were dropped/);
});
