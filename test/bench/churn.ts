/** Connects, calls and kills a thousand shims: the broker's memory, open files and processes must not grow. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createTestPalace, processesWith, ROOT } from "../helpers/palace.ts";
import { atMost, type Row } from "./measure.ts";

const CYCLES = Number(process.env["PALACE_BENCH_CYCLES"] ?? 1000);
const AT_ONCE = 8;
const call = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "mempalace_list_wings", arguments: {} } })}\n`;

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  const broker = await palace.startBroker();
  const cycle = async (): Promise<void> => {
    const shim = spawn(process.execPath, [join(ROOT, "dist/bin/mp-shim.cjs")], {
      env: palace.env,
      stdio: ["pipe", "pipe", "ignore"],
    });
    shim.stdin.write(call);
    await once(shim.stdout, "data");
    shim.kill("SIGKILL");
    await once(shim, "exit");
  };
  const cycles = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, cycle));
    await delay(500);
  };
  const state = () => {
    const pid = broker.pid ?? 0;
    const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
    return {
      resident,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      processes: processesWith(palace.home).length,
    };
  };
  // Unmeasured cycles fill caches and let the heap reach its size.
  await cycles(Math.min(200, CYCLES));
  const before = state();
  await cycles(CYCLES);
  const after = state();
  return [
    atMost(
      `broker memory after ${CYCLES} connect/kill cycles`,
      after.resident / before.resident,
      1.15,
      `${after.resident.toFixed(0)} / ${before.resident.toFixed(0)} MiB`,
    ),
    atMost(
      "descriptors after / before",
      after.descriptors / before.descriptors,
      1,
      `${after.descriptors} / ${before.descriptors}`,
    ),
    atMost(
      "processes after / before",
      after.processes / before.processes,
      1,
      `${after.processes} / ${before.processes}`,
    ),
  ];
}
