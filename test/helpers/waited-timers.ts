/** Sums the delays of a process's expired timers. The sum is equal on any machine, so a test can show that a command does not wait. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Module that records each timer that expires. It applies to every process and thread that is started with `env`. */
const HOOK = `import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import promises from "node:timers/promises";
const note = (ms) => {
  if (ms >= 1) appendFileSync(process.env.WAITED_TIMERS_FILE, String(ms) + "\\n");
};
const { setTimeout: after } = globalThis;
const { setTimeout: sleep } = promises;
const expiring = (call, ms, ...args) => after(() => (note(ms), call(...args)), ms);
globalThis.setTimeout = Object.defineProperties(expiring, Object.getOwnPropertyDescriptors(after));
promises.setTimeout = async (ms, ...args) => {
  const value = await sleep(ms, ...args);
  note(ms);
  return value;
};
syncBuiltinESMExports();
`;

export type WaitedTimers = {
  env: { NODE_OPTIONS: string; WAITED_TIMERS_FILE: string };
  /** Returns the delays, ms, of the timers that expired since the last call. */
  take(): number[];
};

export function watchTimers(folder: string): WaitedTimers {
  const hook = join(folder, "waited-timers.mjs");
  const file = join(folder, "waited-timers.noted");
  writeFileSync(hook, HOOK);
  const take = (): number[] => {
    const noted = existsSync(file) ? readFileSync(file, "utf8") : "";
    writeFileSync(file, "");
    return noted.split("\n").filter(Boolean).map(Number);
  };
  return { env: { NODE_OPTIONS: `--import=${hook}`, WAITED_TIMERS_FILE: file }, take };
}

export function total(delays: readonly number[]): number {
  return delays.reduce((sum, ms) => sum + ms, 0);
}
