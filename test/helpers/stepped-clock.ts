/** Wall clock that a test can step, for every process and thread that is started with this helper's environment variables. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const READ_EVERY_MS = 20;
/** Module that replaces `Date`. It reads the offset again after READ_EVERY_MS. performance.now() is unchanged, as with a real stepped clock. */
const HOOK = `import { readFileSync } from "node:fs";
const real = Date.now;
let offset = 0;
let lookedAt = -Infinity;
const now = () => {
  if (performance.now() - lookedAt > ${READ_EVERY_MS}) {
    lookedAt = performance.now();
    offset = Number(readFileSync(process.env.STEPPED_CLOCK_FILE, "utf8"));
  }
  return real() + offset;
};
globalThis.Date = class extends Date {
  constructor(...values) {
    super(...(values.length === 0 ? [now()] : values));
  }
  static now() {
    return now();
  }
};
`;

export type SteppedClock = {
  env: { NODE_OPTIONS: string; STEPPED_CLOCK_FILE: string };
  /** Sets the clock `offsetMs` ahead of the true time. A negative value sets it back. Returns when every process reads the new time. */
  step(offsetMs: number): void;
};

export function makeSteppedClock(folder: string): SteppedClock {
  const hook = join(folder, "stepped-clock.mjs");
  const file = join(folder, "stepped-clock.offset");
  writeFileSync(hook, HOOK);
  const step = (offsetMs: number): void => {
    writeFileSync(`${file}.new`, String(offsetMs));
    renameSync(`${file}.new`, file);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * READ_EVERY_MS);
  };
  step(0);
  return { env: { NODE_OPTIONS: `--import=${hook}`, STEPPED_CLOCK_FILE: file }, step };
}
