/** Soak test (`npm run soak`): for SOAK_MINUTES brokers are killed and restarted while clients write, hang up and are killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { readBrokerFile } from "../../src/wire/client/discover.ts";
import { atMost, type Row } from "../bench/measure.ts";
import { createTestPalace, processesWith, type TestPalace } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";
import { assertWhole, storm } from "../helpers/storm.ts";

const MINUTES = Number(process.env["SOAK_MINUTES"] ?? 2);
const SEED = Number(process.env["SOAK_SEED"] ?? 1);
/** Share of the time in which brokers are killed. Afterwards one broker runs to the end, so its growth can be measured. */
const STORMY_PART = 0.4;
/** Share of the calm time until caches are full and the heap has settled. */
const WARM_PART = 0.4;
/** Pause between two rounds of clients, so that other processes get most of the machine. */
const WAVE_REST_MS = 300;
/** Limits V8's heap: with more memory, late garbage collection would look like a leak. */
const ENV = { NODE_OPTIONS: "--max-semi-space-size=4 --max-old-space-size=256" };

type Written = { present: Set<string>; deleted: Set<string> };

test(
  `${MINUTES} minutes of concurrent writes, kills and short-lived clients lose no write and leave no process, memory or file`,
  { timeout: (MINUTES + 10) * 60_000 },
  async () => {
    await using palace = createTestPalace({ env: ENV });
    const random = seededRandom(SEED);
    const written: Written = { present: new Set(), deleted: new Set() };
    const startedAt = Date.now();
    const until = (part: number): number => startedAt + part * MINUTES * 60_000;

    let kills = 0;
    for (let number = 0; Date.now() < until(STORMY_PART); number++) {
      const rounds = 3;
      const raging = storm(palace, { env: {}, shims: 4, rounds, random, wing: `storm${number}` });
      await keepDiary(palace, number, raging, written);
      const { present, deleted } = await raging;
      for (const id of present) written.present.add(id);
      for (const id of deleted) written.deleted.add(id);
      kills += rounds;
    }

    const churn = new Churn(palace, random, written);
    while (Date.now() < until(STORMY_PART + (1 - STORMY_PART) * WARM_PART)) await churn.round();
    const before = await usage(palace);
    while (Date.now() < until(1)) await churn.round();
    const after = await usage(palace);

    const flat = (name: string, value: (of: Usage) => number, bar: number): Row =>
      atMost(
        name,
        value(after) / Math.max(1, value(before)),
        bar,
        `${Math.round(value(after))} / ${Math.round(value(before))}`,
      );
    const rows = [
      flat("broker's memory, MiB", ({ residentMiB }) => residentMiB, 1.25),
      flat("broker's descriptors", ({ descriptors }) => descriptors, 1),
      flat("broker's threads", ({ threads }) => threads, 1),
      flat("processes of the palace", ({ processes }) => processes, 1),
      flat("descriptors of the client side", ({ ownDescriptors }) => ownDescriptors, 1.1),
      atMost("zombies", after.zombies, 0, String(after.zombies)),
    ];
    for (const { ok, name, bar, measured } of rows)
      console.log(`${ok ? "ok  " : "MISS"}  ${name.padEnd(32)} ${bar.padEnd(8)} ${measured}`);
    const { present, deleted } = written;
    console.log(
      `${kills} kills, ${churn.visits} visits, ${present.size + deleted.size} acknowledged writes, ${deleted.size} deleted again`,
    );
    expect(after.pid, "the broker of the calm part").toBe(before.pid);
    expect(rows.filter(({ ok }) => !ok).map(({ name, measured }) => `${name}: ${measured}`)).toEqual([]);
    await assertWhole(palace, present, deleted);
    assertOnce(palace);
  },
);

/** Writes a diary during the storm. A diary accepts equal entries, so the broker can recognise a repeated call only by its key. */
async function keepDiary(
  palace: TestPalace,
  number: number,
  during: Promise<unknown>,
  written: Written,
): Promise<void> {
  let over = false;
  const ended = during.finally(() => (over = true)).catch(() => {});
  await using shim = await palace.shim();
  for (let index = 0; !over; index++) {
    const entry = { agent_name: "soak", entry: `storm ${number}, entry ${index}` };
    written.present.add(String((await shim.call("mempalace_diary_write", entry))["entry_id"]));
  }
  await ended;
}

/** Runs rounds of short-lived clients. The write of a killed client may exist once or not at all. */
class Churn {
  readonly #palace: TestPalace;
  readonly #random: () => number;
  readonly #written: Written;
  #rounds = 0;
  visits = 0;

  constructor(palace: TestPalace, random: () => number, written: Written) {
    this.#palace = palace;
    this.#random = random;
    this.#written = written;
  }

  async round(): Promise<void> {
    const round = this.#rounds++;
    await Promise.all([
      ...[0, 1].map((number) => this.#guest(round, number)),
      this.#shortLived(round),
      ...[0, 1, 2].map(() => this.#client()),
      ...Array.from({ length: 8 }, () => this.#rude()),
    ]);
    await delay(WAVE_REST_MS);
  }

  /** Runs a shim that writes, searches, deletes and ends properly. */
  async #guest(round: number, number: number): Promise<void> {
    const shim = await this.#palace.shim();
    for (let index = 0; index < 12; index++) {
      const id = await this.#write(shim, `guest ${round} ${number} ${index}`);
      if (index % 5 === 3) {
        await shim.call("mempalace_delete_drawer", { drawer_id: id });
        this.#written.present.delete(id);
        this.#written.deleted.add(id);
      }
      if (index % 4 === 1) await shim.call("mempalace_search", { query: `guest ${round} write`, limit: 5 });
    }
    expect(await shim.close()).toBe(0);
    this.visits += 1;
  }

  /** Runs a shim that is killed during a write. */
  async #shortLived(round: number): Promise<void> {
    const { env, executable } = this.#palace;
    const shim = spawn(process.execPath, [executable("mp-shim")], { env, stdio: ["pipe", "pipe", "ignore"] });
    const exited = once(shim, "exit");
    shim.stdin.write(addition(1, `killed ${round}, first`));
    const [line] = (await once(shim.stdout, "data")) as [Buffer];
    this.#written.present.add(filedId(line));
    shim.stdin.write(addition(2, `killed ${round}, in the middle`));
    await delay(this.#random() * 12);
    shim.kill("SIGKILL");
    await exited;
    this.visits += 1;
  }

  async #client(): Promise<void> {
    const client = await this.#palace.client();
    await client.callTool("mempalace_list_drawers", { limit: 20 });
    await client.call("palace.status", {});
    client.close();
    this.visits += 1;
  }

  /** Hangs up in the middle of an HTTP head or of a message, or after a request for a path that does not exist. */
  async #rude(): Promise<void> {
    const socket = connect({ path: this.#palace.config.paths.socketPath });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    const upgrade = "GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n";
    const words = ["GET /mc", upgrade, upgrade.replace("/mcp", "/no"), `${upgrade}{"jsonrpc":"2.0","id":1,"meth`];
    socket.write(words[Math.floor(this.#random() * words.length)] ?? "");
    await delay(this.#random() * 20);
    socket.destroy();
    await closed;
    this.visits += 1;
  }

  async #write(shim: StdioMcp, content: string): Promise<string> {
    const { drawer_id: id } = await shim.call("mempalace_add_drawer", { wing: "soak", room: "churn", content });
    this.#written.present.add(String(id));
    return String(id);
  }
}

function addition(id: number, content: string): string {
  const params = { name: "mempalace_add_drawer", arguments: { wing: "soak", room: "churn", content } };
  return `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })}\n`;
}

function filedId(line: Buffer): string {
  const { result } = JSON.parse(line.toString()) as { result: { content: { text: string }[] } };
  return String((JSON.parse(result.content[0]?.text ?? "{}") as { drawer_id?: string }).drawer_id);
}

type Usage = {
  pid: number;
  residentMiB: number;
  descriptors: number;
  threads: number;
  processes: number;
  ownDescriptors: number;
  zombies: number;
};

/** Measures the broker and this process after all clients have ended. */
async function usage(palace: TestPalace): Promise<Usage> {
  const pid = readBrokerFile(palace.config.paths.brokerFile)?.pid ?? 0;
  await expect.poll(() => processesWith(palace.home), { timeout: 20_000 }).toEqual([pid]);
  const client = await palace.client();
  await expect.poll(async () => (await client.call("palace.status", {})).peers, { timeout: 20_000 }).toBe(1);
  client.close();
  await delay(500);
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const count = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return {
    pid,
    residentMiB: count("VmRSS") / 1024,
    threads: count("Threads"),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    processes: processesWith(palace.home).length,
    ownDescriptors: readdirSync("/proc/self/fd").length,
    zombies: zombiesOf([pid, process.pid]),
  };
}

/** Counts processes that have ended and whose parent has not waited for them. */
function zombiesOf(parents: readonly number[]): number {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ");
        return state === "Z" && parents.includes(Number(parent));
      } catch {
        return false;
      }
    }).length;
}

/** Asserts that every text exists once, even if its write was repeated over another connection. */
function assertOnce(palace: TestPalace): void {
  const database = new Database(palace.config.paths.ledgerFile, { readonly: true });
  try {
    const twice = database.prepare("SELECT text FROM drawer GROUP BY wing, text HAVING count(*) > 1").pluck().all();
    expect(twice, "doubled").toEqual([]);
  } finally {
    database.close();
  }
}
