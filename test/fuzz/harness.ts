/**
 * Runs seeded fuzzing as ordinary tests. Each input has its own generator, made from the seed and the input's number, so one input can be
 * repeated alone. A failing test prints the command for this.
 *
 *   FUZZ_SEED=7 ./scripts/test seeded test/fuzz          uses other inputs (default 1, so that a red run is caused by a change)
 *   FUZZ_COUNT=1000000 ./scripts/test seeded test/fuzz   runs more inputs
 *   FUZZ_AT=1234 ./scripts/test seeded test/fuzz         runs one input; FUZZ_AT=1200-1234 runs a range, if earlier inputs matter
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { seededRandom } from "../helpers/random.ts";
import { Chooser } from "./chooser.ts";

export type FuzzOptions<T> = {
  /** Number of inputs, unless FUZZ_COUNT is set. */
  count: number;
  /** Makes input number `number`. All its randomness must come from `chooser`. */
  generate: (chooser: Chooser, number: number) => T;
  /** Throws if a property is violated. Each `lane` checks one input at a time. */
  check: (input: T, at: { lane: number; number: number }) => Promise<void> | void;
  /** Number of inputs to check at the same time. */
  lanes?: number;
  /** Runs after the last input, to check all inputs together. `isWhole`: at least `count` inputs ran. */
  finish?: (all: { isWhole: boolean }) => Promise<void> | void;
};

const FAILURES = join(import.meta.dirname, "failures");
const INPUT_MAX_MS = 60_000;
const TEST_MAX_MS = 3_600_000;

/** Declares one test. `name` consists of words and hyphens, because it is part of a file name and of a pattern on a command line. */
export function fuzz<T>(name: string, options: FuzzOptions<T>): void {
  const { count, generate, check, lanes = 1, finish } = options;
  const seed = Number(process.env["FUZZ_SEED"] ?? 1);
  const { first, last } = range(process.env["FUZZ_AT"], Number(process.env["FUZZ_COUNT"] ?? count));

  test(`${name}: ${last - first + 1} inputs of seed ${seed}`, { timeout: TEST_MAX_MS }, async () => {
    let next = first;
    let failed = false;
    const run = async (lane: number): Promise<void> => {
      while (next <= last && !failed) {
        const number = next++;
        const input = generate(new Chooser(seededRandom(mix(seed, number))), number);
        try {
          await settled(check(input, { lane, number }));
        } catch (error) {
          failed = true;
          throw reported({ name, seed, number, input, error });
        }
        // Lets timers and sockets run, because an input may have been checked synchronously.
        if (number % 256 === 0) await new Promise(setImmediate);
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: lanes }, (_, lane) => run(lane)));
    const failures = ended.flatMap((lane) => (lane.status === "rejected" ? [lane.reason as Error] : []));
    // One fault makes several lanes fail, so only the first input's failure is thrown.
    const [worst] = failures.sort((a, b) => numberOf(a) - numberOf(b));
    if (worst !== undefined) throw worst;
    await finish?.({ isWhole: first === 0 && last >= count - 1 });
  });
}

class FuzzFailure extends Error {
  override readonly name = "FuzzFailure";
  readonly number: number;
  constructor(message: string, number: number, cause: unknown) {
    super(message, { cause });
    this.number = number;
  }
}

function numberOf(error: Error): number {
  return error instanceof FuzzFailure ? error.number : Number.POSITIVE_INFINITY;
}

type Failure = { name: string; seed: number; number: number; input: unknown; error: unknown };

/** Writes the failure to a file, and returns an error with the command that repeats it. */
function reported({ name, seed, number, input, error }: Failure): Error {
  const why = error instanceof Error ? error.message : String(error);
  const replay = `FUZZ_SEED=${seed} FUZZ_AT=${number} ./scripts/test seeded test/fuzz -t ${name}`;
  mkdirSync(FAILURES, { recursive: true });
  const file = join(FAILURES, `${name}-${seed}-${number}.json`);
  writeFileSync(file, `${JSON.stringify({ name, seed, at: number, replay, why, input }, readable, 2)}\n`);
  return new FuzzFailure(`${name}, input ${number}: ${why}\n  again: ${replay}\n  input: ${file}`, number, error);
}

/** Formats bytes as base64. `JSON.stringify` has already called the Buffer's `toJSON`. */
function readable(_key: string, value: unknown): unknown {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === "Buffer" && Array.isArray(data)
    ? { base64: Buffer.from(data as number[]).toString("base64") }
    : value;
}

function range(at: string | undefined, count: number): { first: number; last: number } {
  if (at === undefined) return { first: 0, last: count - 1 };
  const [first = 0, last = first] = at.split("-").map(Number);
  return { first, last };
}

/** Mixes seed and number, so that neighbouring numbers get unrelated generators. */
function mix(seed: number, number: number): number {
  return Math.imul(seed ^ Math.imul(number + 1, 0x9e3779b1), 0x85ebca6b) >>> 0;
}

async function settled(work: Promise<void> | void): Promise<void> {
  if (work === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not settled within ${INPUT_MAX_MS / 1000} s`)), INPUT_MAX_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
