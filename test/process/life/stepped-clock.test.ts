import Database from "better-sqlite3";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { appliedTwice } from "../../helpers/journal-rows.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { makeSteppedClock } from "../../helpers/stepped-clock.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AGENTS = 3;
const NEXT_WRITES = 5;
/** Maximum time of a few writes, ms. Only a hanging broker needs longer. */
const STANDSTILL_MS = 60_000;

/** Writes diary entries one after another until `end` is called. An entry that is delivered twice would exist twice. */
function writing(shim: StdioMcp, name: string): { acknowledged: string[]; end(): Promise<void> } {
  const acknowledged: string[] = [];
  let goesOn = true;
  const done = (async () => {
    for (let index = 0; goesOn; index++) {
      const entry = `${name} entry ${index}`;
      const answer = await shim.call("mempalace_diary_write", { agent_name: name, entry, topic: "clock" });
      expect(answer).toMatchObject({ success: true });
      acknowledged.push(entry);
      await delay(5);
    }
  })();
  done.catch(() => {});
  return { acknowledged, end: () => ((goesOn = false), done) };
}

test("every write is answered soon and made once while the clock jumps and the broker ends", async () => {
  await using palace = createTestPalace();
  const clock = makeSteppedClock(palace.home);
  let broker = await palace.startBroker(clock.env);
  const shims = await Promise.all(Array.from({ length: AGENTS }, () => palace.shim(clock.env)));
  const agents = shims.map((shim, number) => writing(shim, `agent${number}`));
  const goOn = async (): Promise<void> => {
    const goals = agents.map(({ acknowledged }) => acknowledged.length + NEXT_WRITES);
    await expect
      .poll(() => agents.every(({ acknowledged }, n) => acknowledged.length >= (goals[n] ?? 0)), {
        timeout: STANDSTILL_MS,
      })
      .toBe(true);
  };
  try {
    await goOn();
    for (const offset of [HOUR_MS, -HOUR_MS, 400 * DAY_MS, -40 * DAY_MS, 0]) {
      clock.step(offset);
      await goOn();
    }
    for (const offset of [-HOUR_MS, 2 * HOUR_MS]) {
      broker.kill("SIGKILL");
      clock.step(offset);
      await goOn();
    }
    expect((await palace.run("palace", ["stop"], { env: clock.env })).code).toBe(0);
    clock.step(-DAY_MS);
    await goOn();
    clock.step(DAY_MS);
    await goOn();
    broker = await palace.startBroker(clock.env);
    await goOn();
    await Promise.all(agents.map((agent) => agent.end()));
    await expect
      .poll(async () => JSON.parse((await palace.run("palace", ["spool", "list", "--json"])).stdout), {
        timeout: STANDSTILL_MS,
      })
      .toMatchObject({ waiting: [] });
  } finally {
    await Promise.allSettled(agents.map((agent) => agent.end()));
    await Promise.all(shims.map((shim) => shim.close()));
  }
  // No client is connected. The broker must not end as idle: by true time, the last client left only seconds ago.
  clock.step(20 * DAY_MS);
  await delay(4_000);
  expect(broker.exitCode).toBeNull();
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  try {
    expect(appliedTwice(ledger)).toEqual([]);
    const texts = ledger.prepare<[], string>("SELECT text FROM drawer ORDER BY text").pluck().all();
    expect(texts).toEqual(agents.flatMap(({ acknowledged }) => acknowledged).sort());
  } finally {
    ledger.close();
  }
}, 180_000);
