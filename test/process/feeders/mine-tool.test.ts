import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { freePort } from "../../helpers/free-port.ts";
import { ourRows } from "../../helpers/mined-rows.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

function createProject(palace: TestPalace, files: number, lines = 40): string {
  const root = join(palace.home, "src/app");
  for (let at = 0; at < files; at++) {
    const path = join(root, `part-${at % 7}/file-${at}.md`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path,
      Array.from({ length: lines }, (_, line) => `file ${at} line ${line}: the broker writes it\n`).join(""),
    );
  }
  return root;
}

type Answer = Record<string, unknown> & { output: string };

/** Maximum number of mined drawers that are filed while an agent's write waits: about eight files with 400 lines each. */
const MINED_AHEAD_MAX = 200;

function minersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter(Boolean)
    .map(Number);
  return children.filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, "utf8").includes("mine");
    } catch {
      return false;
    }
  });
}

test(
  "a project is filed as `palace mine projects` files it, and the answer has upstream's fields",
  { timeout: 120_000 },
  async () => {
    await using palace = createTestPalace();
    await using other = createTestPalace();
    const root = createProject(palace, 12);
    await palace.startBroker();
    await using agent = await palace.shim();
    const dry = (await agent.call("mempalace_mine", { source: root, dry_run: true })) as Answer;
    expect(dry).toMatchObject({ success: true, mode: "projects", dry_run: true });
    expect(dry.output.match(/\[DRY RUN\] part-/g)).toHaveLength(12);
    expect(ourRows(palace).size).toBe(0);

    const mined = (await agent.call("mempalace_mine", { source: root })) as Answer;
    expect(mined).toMatchObject({
      success: true,
      mode: "projects",
      dry_run: false,
      status: "done",
      wing: "app",
      filed: 12,
    });
    expect(mined.output).toContain("  Drawers filed: ");
    const ran = await other.run("palace", ["mine", "projects", root, "--json"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect([...ourRows(palace).keys()].sort()).toEqual([...ourRows(other).keys()].sort());
    expect(await agent.call("mempalace_mine", { source: root })).toMatchObject({ filed: 0, unchanged: 12, drawers: 0 });
  },
);

test(
  "other clients write during a mine, and the mine ends when its broker is stopped or killed",
  { timeout: 180_000 },
  async () => {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await using palace = createTestPalace();
      const root = createProject(palace, 200, 400);
      const broker = await palace.startBroker();
      const pid = broker.pid ?? 0;
      const [miner, writer] = [await palace.client(), await palace.client()];
      const mining = miner.callTool("mempalace_mine", { source: root }).catch((error: unknown) => error);
      while (minersOf(pid).length === 0 || ourRows(palace).size === 0) await delay(20);
      const [child = 0] = minersOf(pid);
      const before: number[] = [];
      for (let at = 0; at < 20; at++) {
        before.push(minedIn(palace));
        expect(
          await writer.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: `beside ${at}` }),
        ).toMatchObject({ success: true });
      }
      // All writes are answered, and the mine continues.
      expect(minersOf(pid)).toEqual([child]);
      expectNotHeldUp(palace, before);
      broker.kill(signal);
      await once(broker, "exit");
      for (let left = 200; isAlive(child); left--) {
        expect(left, `the miner outlived its broker, ended by ${signal}`).toBeGreaterThan(0);
        await delay(100);
      }
      const answer = await mining;
      // The client repeats the call to the next broker, which continues where the first broker was killed.
      if (signal === "SIGKILL") expect(answer).toMatchObject({ success: true, status: "done", files: 200 });
      for (const client of [miner, writer]) client.close();
    }
  },
);

test(
  "a reader may not mine, and an agent of another machine may mine only the folders that the owner allowed",
  { timeout: 120_000 },
  async () => {
    const port = await freePort();
    await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
    const root = createProject(palace, 2);
    const token = async (...args: string[]): Promise<string> => {
      const { stdout } = await palace.run("palace", ["token", "add", ...args, "--json"]);
      return (JSON.parse(stdout) as { token: string }).token;
    };
    const [agent, reader] = [await token("box"), await token("eye", "--role", "reader")];
    await palace.startBroker({ MEMPALACE_MINE_ROOTS: join(root, "part-0") });
    const ask = async (secret: string, source: string): Promise<unknown> => {
      const env = {
        HOME: join(palace.home, "far"),
        MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
        MEMPALACE_TOKEN: secret,
      };
      const client = await connectClient({ config: loadConfig(env), agent: "far", start: "never" });
      return client.callTool("mempalace_mine", { source }).finally(() => client.close());
    };
    await expect(ask(reader, join(root, "part-0"))).rejects.toMatchObject({ code: "BROKER_DENIED" });
    expect(await ask(agent, root)).toMatchObject({ success: false, error_class: "PermissionError" });
    expect(await ask(agent, join(root, "part-0"))).toMatchObject({ success: true, filed: 1 });
  },
);

/** Counts the mined drawers, or only those in ledger rows below `before`. */
function minedIn(palace: TestPalace, before = Number.MAX_SAFE_INTEGER): number {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const count = ledger
    .prepare<[number], number>("SELECT count(*) FROM drawer WHERE wing = 'app' AND row < ?")
    .pluck()
    .get(before);
  ledger.close();
  return count ?? 0;
}

/** Asserts that the mine held up no write, by order and not by time. `before`: number of mined drawers when each write was sent. */
function expectNotHeldUp(palace: TestPalace, before: readonly number[]): void {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare<[], number>("SELECT row FROM drawer WHERE wing = 'w' ORDER BY row").pluck().all();
  const overtaken = ledger
    .prepare<[], number>(
      `SELECT (SELECT count(*) FROM journal mined
                WHERE mined.seq < own.seq AND mined.at_ms > own.at_ms AND mined.agent <> own.agent)
         FROM journal own WHERE own.method = 'add_drawer'`,
    )
    .pluck()
    .all();
  ledger.close();
  // The broker applies a write before the miner's calls that arrive after it, except for one call whose turn it already was.
  expect(overtaken).toHaveLength(before.length);
  expect(overtaken.filter((count) => count > 1)).toEqual([]);
  // At least half of the writes wait for the drawers of only a few of the two hundred files.
  const waitedFor = rows.map((row, at) => minedIn(palace, row) - (before[at] ?? 0)).toSorted((a, b) => a - b);
  expect(waitedFor).toHaveLength(before.length);
  expect(waitedFor[Math.floor(waitedFor.length / 2)]).toBeLessThan(MINED_AHEAD_MAX);
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
