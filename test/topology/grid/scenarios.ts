/**
 * Scenarios of the grid, each under the id of its requirement. After each scenario the brokers and containers work as before. `accounts`
 * has the writes of all scenarios.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { seededRandom } from "../../helpers/random.ts";
import { assertPublicPalace } from "./public-palace.ts";
import { type Account, assertAccounts, newAccount, writeMany } from "./storm.ts";
import type { Place, World } from "./world.ts";

/** `crew` has the sessions that write in one storm after another, whatever happens to their broker and their container. */
export type Run = { world: World; accounts: Account[]; crew: StdioMcp[] };

const AGENTS = 12;
const STORM_WRITES = 240;
const FAULT_WRITES = 480;
/** Pause, ms, between two writes of an agent that has finished its share while the fault lasts. */
const SLOW_MS = 250;
/** Number of writes that disconnected agents must spool before they are connected again. */
const SPOOLED_MIN = 12;
const PAUSE_MS = 20_000;
const SETTLE_MAX_MS = 90_000;
const WAIT_MAX_MS = 180_000;
/**
 * Writes a broker.json of another boot, with the pid of a running process and file times an hour ahead. The killed broker has also left its
 * socket and its lock file.
 */
const MAKE_STALE = `
const home = process.env.MEMPALACE_PATH, file = home + "/broker.json";
const broker = JSON.parse(fs.readFileSync(file, "utf8"));
const ahead = Date.now() + 3_600_000;
fs.writeFileSync(file, JSON.stringify({ ...broker, bootId: "other", pid: process.ppid, startedAtMs: ahead }));
const state = (process.env.XDG_STATE_HOME ?? process.env.HOME + "/.local/state") + "/palace";
const tag = path.basename(broker.doors[0].path, ".sock");
fs.mkdirSync(state, { recursive: true });
fs.writeFileSync(state + "/" + tag + ".starting", "");
for (const one of [state + "/" + tag + ".starting", file, home + "/broker.lock"]) fs.utimesSync(one, ahead / 1000, ahead / 1000);`;
/**
 * The sessions in `Run.crew` stay open during these scenarios. Before any other they are closed, as they could start a broker during it.
 */
const STORMS = new Set(["storm", "broker-killed", "restarted", "sshd-killed", "network-gone", "paused"]);
let storms = 0;

export async function runScenario(id: string, run: Run): Promise<void> {
  const isAlone = !STORMS.has(id);
  if (isAlone) await dismiss(run);
  try {
    await SCENARIOS[id]?.(run);
  } catch (error) {
    await dismiss(run);
    throw error;
  }
}

export const SCENARIOS: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  storm: (run) => storm(run, STORM_WRITES),
  "broker-killed": async (run) => {
    const random = seededRandom(5);
    await storm(run, FAULT_WRITES, async ({ progress }) => {
      for (let kill = 1; kill <= 3; kill++) {
        await progress(0.1 + random() / 10);
        await run.world.killBroker();
      }
    });
  },
  "twenty-write": (run) =>
    storm(
      run,
      FAULT_WRITES,
      async ({ progress }) => {
        await progress(0.4);
        await run.world.killBroker();
      },
      20,
    ),
  "sshd-killed": (run) =>
    storm(run, FAULT_WRITES, async ({ progress, spooled }) => {
      await progress(0.3);
      await run.world.killSshd?.();
      await spooled();
      await run.world.startSshd?.();
    }),
  "network-gone": (run) =>
    storm(run, FAULT_WRITES, async ({ progress, spooled }) => {
      await progress(0.3);
      await run.world.container?.disconnect();
      await spooled();
      await run.world.container?.connect();
    }),
  paused: (run) =>
    storm(run, FAULT_WRITES, async ({ progress }) => {
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
    // Some writes are made without a broker. The spooled writes must outlive the container, too.
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
  restarted: (run) =>
    storm(run, FAULT_WRITES, async ({ progress }) => {
      for (let restart = 1; restart <= 2; restart++) {
        await progress(0.2);
        await run.world.stopBroker();
        await run.world.startBroker();
      }
    }),
  "stale-everything": async ({ world, accounts }) => {
    const account = newAccount(`stale-${++storms}`);
    accounts.push(account);
    const before = await world.agent(world.places[0] ?? 0);
    await writeMany(before, account, 10);
    await before.close();
    await world.killBroker(MAKE_STALE);
    const agent = await world.agent(world.places.at(-1) ?? 0);
    await writeMany(agent, account, 10, 10);
    await settle({ world, accounts });
    expect(await world.brokers()).toBe(1);
    await agent.close();
  },
  "gate-key": async ({ world }) => {
    const ssh = world.sshWithBridgeKey ?? (() => Promise.reject(new Error("no bridge here")));
    const word = "shown-by-nobody";
    const tries = [
      await ssh([], "echo", word),
      await ssh(["-tt"], "sh", "-c", `"echo ${word}"`),
      await ssh(["-s"], "sftp"),
      await ssh(["-o", "ExitOnForwardFailure=yes", "-W", "127.0.0.1:22"]),
      await ssh(["-o", "ExitOnForwardFailure=yes", "-N", "-R", "127.0.0.1:0:127.0.0.1:22"]),
    ];
    for (const { exitCode, stdout } of tries) {
      expect(exitCode).not.toBe(0);
      expect(stdout).not.toContain(word);
    }
  },
  "alone-hands-over": async (run) => {
    await storm(run, FAULT_WRITES, async ({ progress }) => {
      await progress(0.3);
      const before = brokerOf(run.world);
      expect(before).toBeDefined();
      await run.world.startService?.();
      await expect.poll(() => brokerOf(run.world) ?? before, { timeout: SETTLE_MAX_MS }).not.toBe(before);
    });
    await dismiss(run);
    expect(await run.world.brokers()).toBe(1);
    // Every client still uses the service's broker, and no other broker has taken its place.
    await run.world.stopBroker();
    await run.world.startBroker();
  },
  "host-takes-over": async (run) => {
    await storm(run, FAULT_WRITES, async ({ progress }) => {
      await progress(0.3);
      await using host = await run.world.startHostService?.();
      expect(host).toBeDefined();
      // The container's agents cannot reach the host's broker, so their writes wait and are finally spooled.
      await progress(0);
    });
    await dismiss(run);
    expect(await run.world.brokers()).toBe(1);
  },
  // Runs last in each topology, because it stops every writer.
  "public-palace": ({ world }) => assertPublicPalace(world),
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

type Meanwhile = {
  /** Resolves when a further `share` of the writes is acknowledged and an agent waits for the answer to another write. */
  progress(share: number): Promise<void>;
  /** Resolves when SPOOLED_MIN more writes are spooled. */
  spooled(): Promise<void>;
};

/**
 * Makes `count` agents write while `meanwhile` runs. Each writes its share, then writes slowly until `meanwhile` is over, and then once
 * more. So the fault happens among writes, however long it takes.
 */
async function storm(
  run: Run,
  writes: number,
  meanwhile: (among: Meanwhile) => Promise<void> = async () => {},
  count = AGENTS,
): Promise<void> {
  const { world, accounts, crew } = run;
  const number = ++storms;
  const places = placesFor(world, count);
  crew.push(...(await Promise.all(places.slice(crew.length).map((place) => world.agent(place)))));
  const own = crew.map((_, index) => newAccount(`storm${number}-${index}`));
  accounts.push(...own);
  let isOver = false;
  // Stops waiting as soon as an agent has failed.
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    for (const deadline = Date.now() + WAIT_MAX_MS; !isSo() && !isOver; await delay(2))
      if (Date.now() > deadline) throw new Error(`there never was ${what}`);
    if (isOver) throw new Error(`an agent failed before there was ${what}`);
  };
  const sum = (kind: "acknowledged" | "spooled"): number => own.reduce((all, account) => all + account[kind], 0);
  const among: Meanwhile = {
    progress: (share) => {
      const target = sum("acknowledged") + share * writes;
      const isAsked = (): boolean => own.some(({ unknown }) => unknown.size > 0);
      return until("a share of the writes", () => sum("acknowledged") >= target && isAsked());
    },
    spooled: () => {
      const target = sum("spooled") + SPOOLED_MIN;
      return until("spooled writes", () => sum("spooled") >= target);
    },
  };
  const writing = crew.map(async (agent, index) => {
    const account = own[index] as Account;
    let from = Math.ceil(writes / count);
    await writeMany(agent, account, from);
    for (; !isOver; from++) {
      await writeMany(agent, account, 1, from);
      await delay(SLOW_MS);
    }
    await writeMany(agent, account, 1, from);
  });
  try {
    await Promise.all([meanwhile(among).then(() => (isOver = true)), ...writing]);
  } finally {
    isOver = true;
  }
  expect(own.every(({ facts }) => facts.size > 0)).toBe(true);
  await settle(run);
}

/** Closes the crew's sessions. The next storm begins with new sessions. */
export async function dismiss({ crew }: Run): Promise<void> {
  await Promise.all(crew.splice(0).map((agent) => agent.close()));
}

/** Chooses a place for each agent: for a third of them the host, if agents can run there, and for the others the containers. */
function placesFor({ places }: World, count: number): Place[] {
  const boxes = places.filter((place) => place !== "host");
  const onHost = places.includes("host") ? (boxes.length === 0 ? count : Math.ceil(count / 3)) : 0;
  return Array.from({ length: count }, (_, index) =>
    index < onHost ? "host" : (boxes[index % boxes.length] ?? "host"),
  );
}

function brokerOf({ home }: World): number | undefined {
  return readBrokerFile(join(home, "broker.json"))?.pid;
}

/** Waits for spooled writes to arrive, until the palace agrees with the agents' answers. */
async function settle({ world, accounts }: Omit<Run, "crew">): Promise<void> {
  for (const deadline = Date.now() + SETTLE_MAX_MS; ; await delay(1_000)) {
    try {
      assertAccounts(await world.copy(), accounts);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}
