/** Helpers for timing: medians, and rows of the printed table. `bar` is the limit that a measurement must meet. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT } from "../helpers/palace.ts";

export type Row = { name: string; measured: string; bar: string; ok: boolean };

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function lowerQuartile(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 4)] ?? Number.NaN;
}

/** Returns the time of each of `rounds` runs, ms, after untimed warm-up runs. `work` may return a function that tidies up, untimed. */
export async function time(
  rounds: number,
  work: (round: number) => unknown,
  warmUp = Math.ceil(rounds / 10),
): Promise<number[]> {
  const times: number[] = [];
  for (let round = -warmUp; round < rounds; round++) {
    const startedAt = performance.now();
    const tidyUp = await work(round);
    if (round >= 0) times.push(performance.now() - startedAt);
    if (typeof tidyUp === "function") await tidyUp();
  }
  return times;
}

/** Times both sides alternately, so a busy machine slows both. Rests `restMs` before each run, so that earlier work can end. */
export async function timeBoth(
  rounds: number,
  one: (round: number) => unknown,
  other: (round: number) => unknown,
  restMs = 0,
): Promise<{ one: number; other: number }> {
  const ones: number[] = [];
  const others: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await delay(restMs);
    ones.push(...(await time(1, () => one(round), round === 0 ? 1 : 0)));
    await delay(restMs);
    others.push(...(await time(1, () => other(round), round === 0 ? 1 : 0)));
  }
  return { one: median(ones), other: median(others) };
}

export function atMost(name: string, ratio: number, bar: number, detail: string): Row {
  return { name, measured: `${ratio.toFixed(2)} (${detail})`, bar: `<= ${bar}`, ok: ratio <= bar };
}

export function atLeast(name: string, value: number, bar: number, detail: string): Row {
  return {
    name,
    measured: `${value >= 100 ? Math.round(value) : value.toFixed(2)} (${detail})`,
    bar: `>= ${bar}`,
    ok: value >= bar,
  };
}

/** Returns a failed row for a benchmark that has no model, because a claim without a measurement counts as broken. */
export function noModel(name: string): Row[] {
  return [{ name, measured: "not measured: ../shared/models is not there", bar: "", ok: false }];
}

export const ms = (value: number): string => `${value.toFixed(value < 1 ? 3 : 1)} ms`;

/** Exits if dist/ is missing, because the benchmarks run the package as users do. */
export function requireBuild(): void {
  if (existsSync(join(ROOT, "dist/bin/mp-shim.cjs"))) return;
  process.stderr.write("dist is missing: run `npm run build` first\n");
  process.exit(2);
}
