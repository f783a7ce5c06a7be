/** What is done to a world, by requirement. Each leaves it whole; the accounts of all that was written go on. */
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { StdioMcp } from "../../../src/bin/stdio-mcp.ts";
import { seededRandom } from "../../helpers/random.ts";
import { type Account, assertAccounts, newAccount, writeMany } from "./storm.ts";
import type { Place, World } from "./world.ts";

export type Run = { world: World; accounts: Account[] };
type Agent = { place: Place; agent: StdioMcp; account: Account };

const AGENTS = 12;
const STORM_WRITES = 8_000;
const FAULT_WRITES = 1_200;
const PAUSE_MS = 20_000;
const SETTLE_MAX_MS = 90_000;
let storms = 0;

export const SCENARIOS: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  storm: (run) => storm(run, STORM_WRITES),
  "broker-killed": async (run) => {
    const random = seededRandom(5);
    await storm(run, FAULT_WRITES * 2, async (progress) => {
      for (let kill = 1; kill <= 5; kill++) {
        await progress(kill / 6 + random() / 12);
        await run.world.killBroker();
      }
    });
  },
  "sshd-killed": (run) =>
    storm(run, FAULT_WRITES, async (progress) => {
      await progress(0.3);
      await run.world.killSshd?.();
      await progress(0.6);
      await run.world.startSshd?.();
    }),
  "network-gone": (run) =>
    storm(run, FAULT_WRITES, async (progress) => {
      await progress(0.3);
      await run.world.container?.disconnect();
      await progress(0.7);
      await run.world.container?.connect();
    }),
  paused: (run) =>
    storm(run, FAULT_WRITES, async (progress) => {
      await progress(0.3);
      await run.world.container?.pause();
      await delay(PAUSE_MS);
      await run.world.container?.unpause();
    }),
  recreated: async ({ world, accounts }) => {
    const last = world.places.at(-1) ?? 0;
    const agent = await world.agent(last);
    const account = newAccount(`recreated-${++storms}`);
    accounts.push(account);
    await writeMany(agent, account, 50);
    // Some of it without a broker: what is spooled must outlive the container too.
    const hasOwnBroker = world.name === "container-only-alone";
    await world.stopBroker();
    await writeMany(agent, account, 20, 50);
    expect(account.spooled).toBeGreaterThan(0);
    const dying = writeMany(agent, account, 10_000, 70).catch(() => {});
    await expect.poll(() => account.acknowledged, { timeout: 60_000, interval: 1 }).toBeGreaterThan(90);
    await world.container?.killAndRecreate();
    await dying;
    await agent.close();
    await world.startBroker();
    if (hasOwnBroker) expect(await world.brokers()).toBe(1);
    const next = await world.agent(last);
    await settle({ world, accounts });
    await next.close();
  },
  "twenty-at-once": async ({ world }) => {
    await world.killBroker();
    const twenty = Array.from({ length: 20 }, (_, index) => world.places[index % world.places.length] ?? 0);
    const agents = await Promise.all(twenty.map((place) => world.agent(place)));
    const answers = await Promise.all(agents.map((agent) => agent.call("mempalace_status", {})));
    expect(answers.every((answer) => typeof answer["total_drawers"] === "number")).toBe(true);
    expect(await world.brokers()).toBe(1);
    await Promise.all(agents.map((agent) => agent.close()));
  },
  "read-fails-fast": async ({ world, accounts }) => {
    const account = newAccount(`outage-${++storms}`);
    accounts.push(account);
    const agent = await world.agent(world.places.at(-1) ?? 0);
    await writeMany(agent, account, 1);
    await world.stopBroker();
    await expect(agent.call("mempalace_search", { query: "writes" })).rejects.toThrow(/broker|host|bridge/);
    await writeMany(agent, account, 3, 1);
    expect(account.spooled).toBe(3);
    await world.startBroker();
    await settle({ world, accounts });
    await agent.close();
  },
};

/** Twelve agents write while `meanwhile` happens; `progress` resolves when that share of the writes is acknowledged. */
async function storm(
  { world, accounts }: Run,
  writes: number,
  meanwhile: (progress: (share: number) => Promise<void>) => Promise<void> = async () => {},
): Promise<void> {
  const number = ++storms;
  const agents = await Promise.all(
    placesFor(world).map(async (place, index): Promise<Agent> => {
      const account = newAccount(`storm${number}-${index}`);
      accounts.push(account);
      return { place, agent: await world.agent(place), account };
    }),
  );
  const acknowledged = (): number => agents.reduce((sum, { account }) => sum + account.acknowledged, 0);
  const writing = Promise.all(
    agents.map(({ agent, account }) => writeMany(agent, account, Math.ceil(writes / AGENTS))),
  );
  const happening = meanwhile(async (share) => {
    const target = Math.min(share, 0.99) * writes;
    while (acknowledged() < target) await delay(2);
  });
  await Promise.all([writing, happening]);
  expect(acknowledged()).toBeGreaterThanOrEqual(writes);
  await settle({ world, accounts });
  await Promise.all(agents.map(({ agent }) => agent.close()));
}

/** Four of twelve on the host where there is one, the others in the containers. */
function placesFor({ places }: World): Place[] {
  const boxes = places.filter((place) => place !== "host");
  const onHost = places.includes("host") ? (boxes.length === 0 ? AGENTS : 4) : 0;
  return Array.from({ length: AGENTS }, (_, index) =>
    index < onHost ? "host" : (boxes[index % boxes.length] ?? "host"),
  );
}

/** What was spooled takes a moment to arrive; then everything is as the agents were told. */
async function settle({ world, accounts }: Run): Promise<void> {
  for (const deadline = Date.now() + SETTLE_MAX_MS; ; await delay(1_000)) {
    try {
      assertAccounts(await world.ledger(), accounts);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}
