import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { AUTHOR_META, IDEMPOTENCY_META, WRITTEN_META } from "../../../src/protocol/headers.ts";
import type { StatsReport, StatusReport } from "../../../src/protocol/spec.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

type Listed = {
  entries: { seq: number; agent: string; method: string; at_ms: number; claimed_ms?: number; arguments: object }[];
  more: boolean;
};

async function audit(palace: TestPalace, ...options: string[]): Promise<Listed> {
  const { code, stdout, stderr } = await palace.run("palace", ["audit", "--json", ...options]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Listed;
}

test("history lists writes newest first and filters them by agent, tool and time", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  for (const agent of ["one", "two"]) {
    const client = await connectClient({ config: palace.config, agent, start: "never" });
    for (let index = 0; index < 3; index++)
      await client.callTool("mempalace_add_drawer", { wing: "w", room: agent, content: `${agent} says ${index}` });
    await client.callTool("mempalace_kg_add", { subject: agent, predicate: "wrote", object: "three" });
    client.close();
  }
  const all = await audit(palace);
  expect(all.more).toBe(false);
  expect(all.entries.map(({ agent, method }) => `${agent} ${method}`)).toEqual(
    ["two", "one"].flatMap((agent) => [`${agent} kg_add`, ...Array<string>(3).fill(`${agent} add_drawer`)]),
  );
  expect(all.entries[1]?.arguments).toMatchObject({ content: "two says 2" });

  const ofOne = await audit(palace, "--client", "one", "--tool", "mempalace_add_drawer", "--limit", "2");
  expect(ofOne.entries.map(({ arguments: asked }) => asked)).toMatchObject([
    { content: "one says 2" },
    { content: "one says 1" },
  ]);
  expect(ofOne.more).toBe(true);
  expect((await audit(palace, "--client", "nobody")).entries).toEqual([]);
  expect((await audit(palace, "--since", "1h")).entries.length).toBe(8);
  expect((await audit(palace, "--since", "2100-01-01")).entries).toEqual([]);

  const shown = await palace.run("palace", ["audit", "--client", "two", "--tool", "kg_add"]);
  expect(shown.stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\ttwo\tunix\tkg_add\t/);
  // Without --json the output is text, with file names as the user knows them.
  expect(shown.stdout).toContain("\tsubject two, predicate wrote, object three");
  const project = join(palace.home, "project");
  mkdirSync(project);
  writeFileSync(join(project, "deploy.md"), `# Deploying\n\n${"We roll the servers back by hand. ".repeat(9)}\n`);
  await palace.run("palace", ["mine", project, "--wing", "w", "--quiet"]);
  const mined = await palace.run("palace", ["history", "--limit", "9"]);
  expect(mined.stdout).toMatch(/\tsource\.replace\tw\/general, deploy\.md, /);
  expect(mined.stdout).toMatch(/\tadd_drawer\tw\/two, "two says 2"\t/);

  const undo = ["history", "undo", "--client", "one", "--since", "1h", "--seq", String(ofOne.entries[1]?.seq)];
  expect(JSON.parse((await palace.run("palace", [...undo, "--yes", "--json"])).stdout)).toMatchObject({ removed: 1 });
  const left = await palace.run("palace", ["ls", "w/one"]);
  expect([0, 1, 2].filter((index) => left.stdout.includes(`one says ${index}`))).toEqual([0, 2]);
  expect(mined.stdout).not.toMatch(/[{}]|\.cache/);
  const why = await palace.run("palace", ["mine", "why", join(project, "deploy.md")]);
  expect(why.stdout).toContain("wing\tw (as it was filed before)");
  expect(why.stdout).toContain("source\tdeploy.md\n");
  expect((await palace.run("palace", ["audit", "--limit", "none"])).code).toBe(2);
});

test("history omits a refused write, status counts it as refused, and a repeated call gets the same refusal", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const shim = await palace.shim();
  const ask = async (tool: string, args: object, key: string): Promise<Record<string, unknown>> => {
    const _meta = { [IDEMPOTENCY_META]: key, [WRITTEN_META]: Date.now() - 60_000 };
    const result = await shim.request("tools/call", { name: `mempalace_${tool}`, arguments: args, _meta });
    const [content] = (result as { content: { text: string }[] }).content;
    return JSON.parse(content?.text ?? "") as Record<string, unknown>;
  };
  const note = { wing: "w", room: "r", content: "kept" };
  const { drawer_id: id } = await ask("add_drawer", note, "k-0");
  const refused = { success: false, error: "Drawer not found: nowhere" };
  for (const _time of [1, 2]) expect(await ask("delete_drawer", { drawer_id: "nowhere" }, "k-1")).toEqual(refused);
  expect(await ask("delete_drawers", { drawer_ids: ["a", "b"] }, "k-2")).toMatchObject({ deleted: 0, errors: 2 });
  expect(await ask("checkpoint", { items: [{ wing: "w" }] }, "k-3")).toMatchObject({ added: [] });
  expect(await ask("delete_drawers", { drawer_ids: ["a", id] }, "k-4")).toMatchObject({ deleted: 1, errors: 1 });
  await shim.close();

  const { entries } = await audit(palace);
  expect(entries.map(({ method }) => method)).toEqual(["delete_drawers", "add_drawer"]);
  const status = JSON.parse((await palace.run("palace", ["status", "--json"])).stdout) as StatusReport;
  expect(status.queue).toMatchObject({ acknowledged: 2, refused: 3 });
  const stats = JSON.parse((await palace.run("palace", ["stats", "--json"])).stdout) as StatsReport;
  expect(stats.usage.writesLate).toBe(2);
  const failed = Object.fromEntries(stats.methods.map(({ method, calls, failed: count }) => [method, [calls, count]]));
  expect(failed).toMatchObject({ mempalace_delete_drawer: [2, 2], mempalace_delete_drawers: [2, 1] });
  const agent = entries[0]?.agent ?? "";
  const undone = await palace.run("palace", ["undo", "--client", agent, "--since", "1h", "--dry-run", "--json"]);
  expect(JSON.parse(undone.stdout)).toMatchObject({ writes: 2 });
});

test("history reads many pages, masks secrets and needs an admin", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  const client = await connectClient({ config: palace.config, agent: "busy", start: "never" });
  const secret = `ghp_${"aB3dE5fG7h".repeat(4).slice(0, 36)}`;
  const note = (content: string): object => ({ wing: "w", room: "r", content });
  const first = await connectClient({ config: palace.config, agent: "first", start: "never" });
  await first.callTool("mempalace_add_drawer", note(`the key is ${secret}`) as never);
  first.close();
  await Promise.all(
    Array.from({ length: 600 }, (_, index) => client.callTool("mempalace_add_drawer", note(`busy ${index}`) as never)),
  );
  client.close();
  expect((await audit(palace, "--limit", "1000")).entries.length).toBe(601);
  const [found] = (await audit(palace, "--client", "first")).entries;
  expect(JSON.stringify(found)).toContain("[redacted");
  expect(JSON.stringify(found)).not.toContain(secret);

  const added = await palace.run("palace", ["token", "add", "box", "--role", "agent", "--json"]);
  const { token } = JSON.parse(added.stdout) as { token: string };
  const env = { HOME: `${palace.home}/else`, MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: token };
  const agent = await connectClient({ config: loadConfig(env), agent: "box", start: "never" });
  await expect(agent.call("memory.audit", { limit: 1 })).rejects.toMatchObject({ code: "BROKER_DENIED" });
  agent.close();
});

test("history shows when a spooled write arrived and when its client made it", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["stop"]);
  const shim = await palace.shim();
  await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "made in an outage" });
  await shim.close();
  // Sets the date of the spooled write two days back.
  const { spoolDir } = palace.config.paths;
  const file = join(spoolDir, readdirSync(spoolDir).find((name) => name.endsWith(".json")) ?? "");
  const madeAtMs = Date.now() - 2 * 86_400_000;
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, "utf8")) as object), atMs: madeAtMs }));
  const startedAtMs = Date.now();
  await palace.run("palace", ["start"]);
  await expect.poll(async () => (await audit(palace)).entries.length).toBe(1);
  const [entry] = (await audit(palace)).entries;
  expect(entry).toMatchObject({ claimed_ms: madeAtMs, method: "add_drawer" });
  expect(entry?.at_ms).toBeGreaterThanOrEqual(startedAtMs);
  // The entry names the agent that wrote (its client is named `palace`), not the command `palace start` that delivered the write.
  expect(entry?.agent).toBe("palace");
});

test("history shows the author of a token's write as TOKEN:AUTHOR", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  const added = await palace.run("palace", ["token", "add", "box", "--role", "agent", "--json"]);
  const { token } = JSON.parse(added.stdout) as { token: string };
  const env = { HOME: `${palace.home}/else`, MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: token };
  await using far = await palace.shim(env);
  const late = { [WRITTEN_META]: Date.now() - 60_000 };
  for (const author of ["owner", "palace outcome", "\u0000", 7, undefined]) {
    const _meta = { ...late, [AUTHOR_META]: author };
    const note = { wing: "w", room: "r", content: `by ${typeof author} ${JSON.stringify(author)}` };
    await far.request("tools/call", { name: "mempalace_add_drawer", arguments: note, _meta });
  }
  const names = (await audit(palace)).entries.map(({ agent }) => agent);
  expect(names.toReversed()).toEqual(["box:owner", "box:palace outcome", ...Array<string>(3).fill("box:palace")]);
});
