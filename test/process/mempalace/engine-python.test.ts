import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { type Client, connectClient } from "../../../src/wire/client/client.ts";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { isAlive, reportOf } from "../../helpers/child-engine.ts";
import { createTestPalace, processesWith, type TestPalace } from "../../helpers/palace.ts";
import {
  MEMPALACE_VERSIONS,
  mempalaceBin,
  mempalaceEnv,
  mempalaceMissing,
  type MempalaceVersion,
} from "../../helpers/python-mempalace.ts";

const TOOLS = { "3.3.6": 30, "3.11.0": 47 };
const reasons = new Map<MempalaceVersion, string>();
for (const version of MEMPALACE_VERSIONS) {
  const reason = await mempalaceMissing(version);
  if (reason === undefined) continue;
  reasons.set(version, reason);
  process.stderr.write(`left out: MemPalace ${version} as engine: ${reason}\n`);
}

describe.each(MEMPALACE_VERSIONS)("MemPalace %s as engine", (version) => {
  let palace: TestPalace;
  let folder: string;

  beforeAll(async () => {
    if (reasons.has(version)) return;
    palace = createTestPalace({ env: { MEMPALACE_ENGINE_TIMEOUT_SECONDS: "20" } });
    folder = join(palace.home, "theirs");
    mempalaceEnv(palace.home);
    const engine = `command:${mempalaceBin(version, "mempalace-mcp")} --palace ${folder}`;
    Object.assign(palace.env, { MEMPALACE_ENGINE: engine });
    await palace.startBroker();
    expect(await reportOf(palace)).toMatchObject({ state: "ready", server: { name: "mempalace", version } });
  });
  afterAll(async () => {
    if (reasons.has(version)) return;
    await palace[Symbol.asyncDispose]();
    expect(processesWith(palace.home)).toEqual([]);
  });

  test.skipIf(reasons.has(version))(
    "five agents that file at once through one child get their own answers, and every drawer exists once",
    async () => {
      const shims = await Promise.all(Array.from({ length: 5 }, () => palace.shim()));
      const filed = await Promise.all(
        shims.flatMap((shim, agent) =>
          Array.from({ length: 8 }, async (_, index) => {
            const content = `agent ${agent} files note ${index}`;
            const { drawer_id: id } = await shim.call("mempalace_add_drawer", {
              wing: "storm",
              room: `agent${agent}`,
              content,
            });
            const drawer = await shim.call("mempalace_get_drawer", { drawer_id: id });
            return { content, id, drawer };
          }),
        ),
      );
      expect(filed.filter(({ content, drawer }) => drawer["content"] !== content)).toEqual([]);
      expect(new Set(filed.map(({ id }) => id)).size).toBe(40);
      expect(documents(folder).toSorted()).toEqual(filed.map(({ content }) => content).toSorted());
      const { pid, generation } = await reportOf(palace);
      expect(
        processesWith(folder).filter((one) => one !== readBrokerFile(palace.config.paths.brokerFile)?.pid),
      ).toEqual([pid]);
      expect(generation).toBe(1);
      for (const shim of shims) expect(await shim.close()).toBe(0);
    },
  );

  test.skipIf(reasons.has(version))("answers and errors of the child reach the client unchanged", async () => {
    const argv = [mempalaceBin(version, "mempalace-mcp"), "--palace", folder];
    await using direct = await openStdioMcp(argv, { env: palace.env, timeoutMs: 60_000 });
    const shim = await palace.shim();
    const theirs = await direct.call("mempalace_get_taxonomy", {});
    expect(await shim.call("mempalace_get_taxonomy", {})).toEqual(theirs);
    expect(theirs).toMatchObject({ taxonomy: { storm: { agent0: 8 } } });
    await expect(shim.call("mempalace_search", {})).rejects.toThrow("Missing required parameter 'query'");
    const client = await connect(palace);
    expect(await client.listTools()).toHaveLength(TOOLS[version]);
    client.close();
    await shim.close();
  });

  // One version is enough for the kills: we restart both versions in the same way, and both come with the same Chroma.
  const isNewest = version === MEMPALACE_VERSIONS.at(-1);
  if (!isNewest) return;

  test.skipIf(reasons.has(version))(
    "kill -9 and SIGSTOP while many agents write cause typed errors, and every acknowledged write exists once",
    async () => {
      const clients = await Promise.all(Array.from({ length: 4 }, () => connect(palace)));
      const { generation } = await reportOf(palace);
      const acknowledged: string[] = [];
      const failures: unknown[] = [];
      let stopped = false;
      const writers = clients.map(async (client, agent) => {
        for (let index = 0; !stopped; index++) {
          const content = `survivor ${agent} writes ${index}`;
          await client.callTool("mempalace_add_drawer", { wing: "kill", room: `a${agent}`, content }).then(
            () => acknowledged.push(content),
            (error: unknown) => failures.push(error),
          );
        }
      });
      const more = (timeout: number): Promise<void> => {
        const target = acknowledged.length + 6;
        return expect.poll(() => acknowledged.length, { timeout, interval: 5 }).toBeGreaterThan(target);
      };
      try {
        for (const signal of ["SIGKILL", "SIGKILL", "SIGSTOP"] as const) {
          await more(60_000);
          await delay(Math.random() * 60);
          process.kill((await reportOf(palace)).pid ?? 0, signal);
        }
        await more(90_000);
      } finally {
        stopped = true;
        await Promise.all(writers);
      }
      for (const client of clients) client.close();
      const codes = new Set(failures.map((error) => (error as { code?: string }).code));
      // A kill between two calls makes no call fail, but a stop (SIGSTOP) always hits a call.
      expect([...codes].filter((code) => code !== "ENGINE_CALL_LOST" && code !== "ENGINE_TIMEOUT")).toEqual([]);
      expect(codes).toContain("ENGINE_TIMEOUT");
      expect(failures.length).toBeLessThanOrEqual(3);
      const there = documents(folder).filter((text) => text.startsWith("survivor"));
      expect(new Set(there).size).toBe(there.length);
      expect(acknowledged.filter((content) => !there.includes(content))).toEqual([]);
      expect(await reportOf(palace)).toMatchObject({ state: "ready", generation: generation + 3 });
    },
  );

  test.skipIf(reasons.has(version))(
    "the child ends with its killed broker; the next broker starts a child that finds the filed drawers",
    async () => {
      const { pid: left } = await reportOf(palace);
      const pid = readBrokerFile(palace.config.paths.brokerFile)?.pid ?? 0;
      process.kill(pid, "SIGKILL");
      await expect.poll(() => isAlive(left ?? 0), { timeout: 30_000 }).toBe(false);
      const broker = await palace.startBroker();
      const client = await connect(palace);
      const list = await client.callTool("mempalace_list_drawers", { wing: "storm", limit: 100 });
      expect((list as { drawers: unknown[] }).drawers).toHaveLength(40);
      const { pid: own, generation } = await reportOf(palace);
      expect(generation).toBe(1);
      expect(own).not.toBe(left);
      client.close();
      // After SIGTERM the broker ends its child and then itself.
      const gone = once(broker, "exit");
      broker.kill("SIGTERM");
      expect(await gone).toEqual([0, null]);
      expect(isAlive(own ?? 0)).toBe(false);
    },
  );
});

function connect(palace: TestPalace): Promise<Client> {
  return connectClient({ config: palace.config, agent: "test", start: "never" });
}

/** Reads the documents of MemPalace's palace from the database file. */
function documents(folder: string): string[] {
  const database = new Database(join(folder, "chroma.sqlite3"), { readonly: true });
  try {
    const sql = "SELECT string_value FROM embedding_metadata WHERE key = 'chroma:document'";
    return database.prepare<[], string>(sql).pluck().all();
  } finally {
    database.close();
  }
}
