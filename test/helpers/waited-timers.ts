/**
 * Measures how long a process has waited by its own timers, as the sum of the delays of the timers that expired. The result is the same on
 * any machine. A test uses it to show that a command waits for nothing.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Notes each timer that expires, in every process and thread that is started with the environment. */
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
  /** Environment for the processes that are watched. */
  env: { NODE_OPTIONS: string; WAITED_TIMERS_FILE: string };
  /** Returns the delays, ms, of all timers that have expired since the last call. */
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
