/**
 * Runs thousands of seeded schedules of client, spool and broker, in which brokers and agents die, networks fail and disks fill. Every
 * acknowledged write must exist once, in its agent's order, and each request must be answered once. SIMULATION_SEED=n repeats one schedule,
 * SIMULATION_COUNT=n runs that many.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { OFFLINE_RULES } from "../../src/broker/tools/offline.ts";
import { expect, test, vi } from "vitest";
// Loads the modules now, because a later import would take time that the simulated clock does not know.
import "../../src/wire/client/send-spooled.ts";
import "../../src/wire/client/answer-offline.ts";
import { Spool } from "../../src/wire/client/spool.ts";
import { Link, type Reach } from "../../src/wire/client/link.ts";
import { loadConfig } from "../../src/config/config.ts";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { IDEMPOTENCY_META } from "../../src/protocol/headers.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import { seededRandom } from "../helpers/random.ts";
import { SimulatedBroker } from "./broker.ts";
import { Scheduler } from "./world.ts";

vi.setConfig({ testTimeout: 1_200_000, hookTimeout: 1_200_000 });

const COUNT = Number(process.env["SIMULATION_COUNT"] ?? 1_500);
const ONLY = process.env["SIMULATION_SEED"];
/** Number of schedules that share one ledger, because making a ledger takes longer than running many schedules. */
const PER_LEDGER = 250;
const AGENTS = 3;
const WRITES = 6;

type Answer = { id: number; result?: { content: { text: string }[] }; error?: { data: { code: string } } };

/** `kept`: texts of acknowledged drawers. `maybe`: texts of all sent drawers. `order`: texts of each agent in the order of its writes. */
type Told = {
  kept: Set<string>;
  maybe: Set<string>;
  order: string[][];
  /** Acknowledged moves to another room: the drawer's text → the move's idempotency key, from which the room's name is made. */
  moved: Map<string, string>;
  events: number;
  faults: number;
};

async function runSchedule(seed: number, ledger: LedgerWriter, home: string): Promise<Told> {
  const scheduler = new Scheduler(seededRandom(seed));
  const config = loadConfig({ HOME: join(home, String(seed)) });
  let broker: SimulatedBroker | undefined = new SimulatedBroker(scheduler, ledger);
  let isCut = false;
  let isReachable = true;
  let faults = 0;
  let calm = false;
  const reach: Reach = {
    open: async () => {
      await new Promise<void>((resolve) => void scheduler.after(scheduler.between(0.1, 5), resolve));
      if (broker?.isAlive !== true || !isReachable || isCut) return undefined;
      const cutAtBirth = { cut: false };
      cuts.push(cutAtBirth);
      const client = broker.accept(() => cutAtBirth.cut);
      return { socket: client.asSocket(), rest: Buffer.alloc(0), endpoint: "simulated" };
    },
    // The simulated broker is on another machine, so the client waits for it instead of starting it.
    ensure: async (_config, { timeoutMs = 0 }) => {
      const until = scheduler.now() + timeoutMs;
      while (broker?.isAlive !== true || !isReachable || isCut) {
        if (scheduler.now() >= until) throw new PalaceError("TRANSPORT_REFUSED", "nobody answers", "");
        await new Promise<void>((resolve) => void scheduler.after(15, resolve));
      }
    },
  };
  const cuts: { cut: boolean }[] = [];
  const kept = new Set<string>();
  const maybe = new Set<string>();
  const order: string[][] = [];
  const moved = new Map<string, string>();
  let running = 0;

  const startAgent = (name: string, count: number): void => {
    const own: string[] = [];
    order.push(own);
    const waiting = new Map<number, (answer: Answer) => void>();
    const answered = new Set<number>();
    let isDead = false;
    let filed: { id: string; content: string } | undefined;
    const link = new Link({
      config,
      agent: name,
      start: "auto",
      offline: async () => OFFLINE_RULES,
      reach,
      clock: scheduler,
      onLine: (line) => {
        if (isDead) return;
        const answer = JSON.parse(String(line)) as Answer;
        expect(answered.has(answer.id), `seed ${seed}: answered twice`).toBe(false);
        answered.add(answer.id);
        waiting.get(answer.id)?.(answer);
      },
    });
    links.push(link);
    running += 1;
    const work = async (): Promise<void> => {
      for (let index = 0; index < count; index++) {
        await new Promise<void>((resolve) => void scheduler.after(scheduler.between(0, 400), resolve));
        if (isDead) return;
        const content = `${seed} ${name} ${index}`;
        const target = index % 3 === 2 ? filed : undefined;
        if (target === undefined) maybe.add(content);
        else filed = undefined;
        const answer = await new Promise<Answer>((resolve) => {
          waiting.set(index, resolve);
          const params = { ...callOf(name, index, content, target?.id), _meta: { [IDEMPOTENCY_META]: content } };
          link.send(index, JSON.stringify({ jsonrpc: "2.0", id: index, method: "tools/call", params }));
        });
        if (isDead) return;
        if (answer.result !== undefined) {
          const { drawer_id: id } = JSON.parse(answer.result.content[0]?.text ?? "{}") as { drawer_id?: string };
          if (target !== undefined) moved.set(target.content, content);
          else {
            kept.add(content);
            own.push(content);
          }
          if (index % 3 === 0) filed = id === undefined ? undefined : { id, content };
        } else expect(answer.error?.data.code, `seed ${seed}`).toMatch(/^STORE_|^TRANSPORT_/);
      }
      running -= 1;
    };
    void work();
    // Kills some agents for good. The writes that were acknowledged to them must still exist.
    if (scheduler.random() < 0.2) {
      scheduler.after(scheduler.between(100, 2_000), () => {
        if (running === 0 || calm || isDead) return;
        isDead = true;
        running -= order.indexOf(own) >= 0 && answered.size < count ? 1 : 0;
        link.close();
      });
    }
  };
  const links: Link[] = [];
  for (let agent = 0; agent < AGENTS; agent++) startAgent(`agent${agent}`, WRITES);

  const trouble = (): void => {
    if (calm) return;
    faults += 1;
    const kind = Math.floor(scheduler.random() * 5);
    const lastsMs = scheduler.between(5, 3_000);
    if (kind === 0) {
      broker?.kill();
      broker = undefined;
      scheduler.after(lastsMs, () => (broker ??= new SimulatedBroker(scheduler, ledger)));
    } else if (kind === 1) {
      isCut = true;
      for (const one of cuts) one.cut = true;
      scheduler.after(lastsMs, () => (isCut = false));
    } else if (kind === 2) {
      isReachable = false;
      scheduler.after(lastsMs, () => (isReachable = true));
    } else if (kind === 3 && broker !== undefined) {
      const full = broker;
      full.isFull = true;
      scheduler.after(lastsMs, () => (full.isFull = false));
    } else if (broker !== undefined) {
      const old = broker;
      old.isDraining = true;
      scheduler.after(scheduler.between(1, 100), () => {
        old.kill();
        if (broker === old) broker = new SimulatedBroker(scheduler, ledger);
      });
    }
    scheduler.after(scheduler.between(50, 1_500), trouble);
  };
  scheduler.after(scheduler.between(10, 500), trouble);

  const isOver = await scheduler.run(() => running <= 0, 120_000);
  expect(isOver, `seed ${seed}: an agent waits for an answer for ever`).toBe(true);
  calm = true;
  // No faults from here on. The next client delivers what is still spooled.
  await scheduler.run(() => false, 10_000);
  broker ??= new SimulatedBroker(scheduler, ledger);
  const last = new Link({
    config,
    agent: "last",
    start: "auto",
    offline: async () => OFFLINE_RULES,
    reach,
    clock: scheduler,
    onLine: () => {},
  });
  links.push(last);
  void last.connect().catch(() => {});
  const isDelivered = await scheduler.run(() => new Spool(config.paths.spoolDir).isEmpty, 60_000);
  expect(isDelivered, `seed ${seed}: nobody could deliver`).toBe(true);
  for (const link of links) link.close();
  return { kept, maybe, order, moved, events: scheduler.events, faults };
}

/** Returns an agent's call. Most are diary entries, because only a diary shows that a call ran twice. */
function callOf(agent: string, index: number, content: string, target: string | undefined): object {
  if (target !== undefined)
    return { name: "mempalace_update_drawer", arguments: { drawer_id: target, room: roomOf(content) } };
  return index % 3 === 0
    ? { name: "mempalace_add_drawer", arguments: { wing: "w", room: "r", content } }
    : { name: "mempalace_diary_write", arguments: { agent_name: agent, entry: content } };
}

const roomOf = (key: string): string => key.replaceAll(" ", "-");

test(
  `in ${ONLY === undefined ? COUNT : 1} schedules no acknowledged write is lost, doubled or reordered, and each request is answered`,
  { timeout: 1_200_000 },
  async () => {
    // Uses memory if possible, because the spool syncs every file.
    const home = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "simulation-"));
    const seeds = ONLY === undefined ? Array.from({ length: COUNT }, (_, index) => index + 1) : [Number(ONLY)];
    let [events, faults, moves] = [0, 0, 0];
    try {
      for (let from = 0; from < seeds.length; from += PER_LEDGER) {
        const file = join(home, `ledger-${from}.sqlite3`);
        const ledger = new LedgerWriter(file, applyWrite);
        const reader = new Database(file, { readonly: true });
        const find = reader.prepare<[string], { text: string; room: string }>(
          "SELECT text, room FROM drawer WHERE text LIKE ? ORDER BY row",
        );
        const journaled = reader.prepare<[string], { filed: number; moved: number; moves: number }>(
          `SELECT count(*) FILTER (WHERE method <> 'update_drawer') AS filed, count(*) FILTER (WHERE method = 'update_drawer') AS moved,
            count(DISTINCT arguments) FILTER (WHERE method = 'update_drawer') AS moves FROM journal WHERE key LIKE ?`,
        );
        for (const seed of seeds.slice(from, from + PER_LEDGER)) {
          const { kept, maybe, order, moved, ...counts } = await runSchedule(seed, ledger, home);
          const rooms = new Map(find.all(`${seed} %`).map(({ text, room }) => [text, room]));
          const found = find.all(`${seed} %`).map(({ text }) => text);
          const say = `SIMULATION_SEED=${seed} npx vitest run test/simulation`;
          expect(new Set(found).size, `doubled; ${say}`).toBe(found.length);
          const rows = journaled.get(`${seed} %`);
          expect(rows?.filed, `journal rows; ${say}`).toBe(found.length);
          expect(rows?.moved, `moved twice; ${say}`).toBe(rows?.moves);
          expect(rows?.moved).toBeGreaterThanOrEqual(moved.size);
          for (const [text, key] of moved) expect(rooms.get(text), `not moved; ${say}`).toBe(roomOf(key));
          expect(
            [...kept].filter((one) => !found.includes(one)),
            `acknowledged and lost; ${say}`,
          ).toEqual([]);
          expect(
            found.filter((one) => !maybe.has(one)),
            `nobody wrote this; ${say}`,
          ).toEqual([]);
          for (const own of order) {
            const positions = own.map((one) => found.indexOf(one));
            expect(positions, `out of order; ${say}`).toEqual(positions.toSorted((a, b) => a - b));
          }
          events += counts.events;
          faults += counts.faults;
          moves += moved.size;
        }
        reader.close();
        ledger.close();
      }
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
    expect(faults).toBeGreaterThan(seeds.length);
    if (ONLY === undefined) expect(moves).toBeGreaterThan(seeds.length / 2);
    console.log(`${seeds.length} schedules, ${events} events, ${faults} faults, ${moves} moves`);
  },
);
