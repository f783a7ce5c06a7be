import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { makeSteppedClock } from "../../helpers/stepped-clock.ts";

const OUTCOME = { MEMPALACE_TOOLS: "outcome" };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TODAY = 5;
const STARTS = 4;
const PATIENCE = { timeout: 60_000 };

async function record(agent: StdioMcp, takeaway: string, writtenAtMs?: number): Promise<void> {
  const dated = writtenAtMs === undefined ? {} : { _meta: { "palace/writtenAtMs": writtenAtMs } };
  await agent.request("tools/call", { name: "record_response", arguments: { key_takeaway: takeaway }, ...dated });
}

function count(palace: TestPalace, text: string): number | undefined {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  try {
    const sql = "SELECT count(*) FROM drawer WHERE room = 'working' AND text LIKE '%' || ? || '%'";
    return ledger.prepare<[string], number>(sql).pluck().get(text);
  } finally {
    ledger.close();
  }
}

test("a clock that is wrong by 100 days deletes none of today's memories in four broker starts", async () => {
  await using palace = createTestPalace();
  const clock = makeSteppedClock(palace.home);
  let broker = await palace.startBroker(clock.env);
  const restart = async (): Promise<void> => {
    broker.kill("SIGTERM");
    await exitOf(broker);
    broker = await palace.startBroker(clock.env);
  };
  await using agent = await palace.shim({ ...OUTCOME, ...clock.env });
  for (let at = 0; at < TODAY; at++) await record(agent, `Takeaway of today number ${at}`);
  await record(agent, "Takeaway overdue", Date.now() - 25 * HOUR_MS);
  clock.step(100 * DAY_MS);
  for (let start = 1; start <= STARTS; start++) {
    await restart();
    // After each start the broker deletes old memories. The deletion is done when the memory that really is overdue is gone.
    await expect.poll(() => count(palace, "Takeaway overdue"), PATIENCE).toBe(0);
    expect(count(palace, "Takeaway of today")).toBe(TODAY);
    if (start < STARTS) await record(agent, "Takeaway overdue", Date.now() + 100 * DAY_MS - 25 * HOUR_MS);
  }
  clock.step(0);
  const undo = ["undo", "--client", "palace ageing", "--since", "2h", "--yes"];
  const undone = await palace.run("palace", undo);
  // Undo counts each memory twice: the drawer and its outcomes.
  expect(undone).toMatchObject({ code: 0, stdout: expect.stringContaining(`${2 * STARTS} restored`) as string });
  expect(undone.stdout + undone.stderr).toMatch(/dated .*: the clock was ahead then/);
  expect(count(palace, "Takeaway overdue")).toBe(STARTS);
  const doctor = await palace.run("palace", ["doctor"]);
  expect(doctor.stdout).toMatch(/clock\s+a write is dated .* ahead/);
}, 600_000);

test("an undo that matches no write names the date of the agent's newest write", async () => {
  await using palace = createTestPalace();
  const clock = makeSteppedClock(palace.home);
  await palace.startBroker(clock.env);
  await using agent = await palace.shim({ ...clock.env, MEMPALACE_AGENT_NAME: "early" });
  clock.step(-20 * DAY_MS);
  await expect.poll(() => agent.call("mempalace_add_drawer", { wing: "w", room: "r", content: "early" })).toBeDefined();
  clock.step(0);
  const refused = await palace.run("palace", ["undo", "--client", "early", "--since", "2h", "--yes"]);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("its newest write is dated");
  const [, since = ""] = /its newest write is dated .*: --since (\S+)/.exec(refused.stderr) ?? [];
  expect(await palace.run("palace", ["undo", "--client", "early", "--since", since, "--yes"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 removed") as string,
  });
}, 300_000);
