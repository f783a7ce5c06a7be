/** Starts one real broker with both doors for all inputs of a file, and a client that must get its answers whatever the inputs send. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import type { Client } from "../../src/wire/client/client.ts";
import { freePort } from "../helpers/free-port.ts";
import { createTestPalace, ROOT, type TestPalace } from "../helpers/palace.ts";
import type { Chooser } from "./chooser.ts";

export type Witnessed = AsyncDisposable & {
  palace: TestPalace;
  port: number;
  token: string;
  drawers(): Promise<number>;
  /** Call it with the number of each input. Asserts after every 500th input that the broker still answers. */
  stillAnswers(number: number): Promise<void>;
  /** Checks after the last input that the broker runs, and that its memory and open files stay within bounds. */
  assertUnharmed(): Promise<void>;
};

const ASK_EVERY = 500;
/** Number of inputs until caches are filled, modules loaded and the heap has settled. Each test has more inputs. */
const WARM_AFTER = 1_500;
const ANSWER_MAX_MS = 20_000;
const GROWTH_MAX_MIB = 50;
/** With a large heap V8 collects garbage late, which would hide a leak. */
const SMALL_HEAP = "--max-semi-space-size=2 --max-old-space-size=128";

export async function startWitnessed(): Promise<Witnessed> {
  const port = await freePort();
  const palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}`, NODE_OPTIONS: SMALL_HEAP } });
  const broker = await palace.startBroker();
  const added = await palace.run("palace", ["token", "add", "fuzz", "--role", "agent", "--json"]);
  const { token } = JSON.parse(added.stdout) as { token: string };
  const client = await palace.client();
  const { instanceId } = client.health;
  // Waits until the palace is open. Until then /ready answers 503, which is not a failure.
  await client.callTool("mempalace_list_wings", {});
  let warm: Usage | undefined;

  return {
    palace,
    port,
    token,
    drawers: () => drawersOf(client),
    async stillAnswers(number) {
      if (number % ASK_EVERY !== 0) return;
      const value = await client.callTool("mempalace_get_aaak_spec", {}, { timeoutMs: ANSWER_MAX_MS });
      expect(value).toHaveProperty("aaak_spec");
      if (number >= WARM_AFTER) warm ??= usage(broker);
    },
    async assertUnharmed() {
      expect([broker.exitCode, broker.signalCode], "the broker's end").toEqual([null, null]);
      const status = await client.call("palace.status", {}, { timeoutMs: ANSWER_MAX_MS });
      expect(status, "the same broker").toMatchObject({ instanceId, pid: broker.pid, state: "ready" });
      // Waits until only this connection remains.
      await expect.poll(async () => (await client.call("palace.status", {})).peers, { timeout: 10_000 }).toBe(1);
      if (warm !== undefined) {
        const before = warm;
        await expect.poll(() => usage(broker).descriptors, { timeout: 10_000 }).toBeLessThanOrEqual(before.descriptors);
        expect(usage(broker).residentMiB - before.residentMiB, "MiB grown").toBeLessThan(GROWTH_MAX_MIB);
      }
      expect(palace.log()).not.toMatch(/broken invariant|route failed/);
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await palace[Symbol.asyncDispose]();
    },
  };
}

async function drawersOf(client: Client): Promise<number> {
  return (await client.call("palace.status", {}, { timeoutMs: ANSWER_MAX_MS })).drawers;
}

type Usage = { residentMiB: number; descriptors: number };

function usage({ pid = 0 }: ChildProcess): Usage {
  const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return { residentMiB: kib / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** Asserts that an answer contains no stack trace and no path of this machine. */
export function assertNoLeak(text: string, home: string): void {
  expect(text).not.toMatch(/node:internal|node_modules|\n\s+at |\bat [\w.$<>]+ \(|\.[cm]?[jt]s:\d+/);
  expect(text.includes(ROOT) || text.includes(home), "a path of this machine").toBe(false);
}

/** Connects to a door. Over TCP uses a new source address, because failures are counted by address. */
export function openDoorSocket(door: "unix" | "tcp", { palace, port }: Witnessed, chooser: Chooser): Promise<Socket> {
  const localAddress = `127.${chooser.below(250)}.${chooser.below(250)}.${chooser.between(2, 250)}`;
  const socket =
    door === "unix"
      ? connect({ path: palace.config.paths.socketPath })
      : connect({ host: "127.0.0.1", port, localAddress });
  return once(socket, "connect").then(() => socket.on("error", () => {}));
}
