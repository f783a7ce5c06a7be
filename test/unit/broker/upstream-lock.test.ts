/** Tests MemPalace's lock: its file name, and when the broker takes the lock. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { keepUpstreamLock, type UpstreamLock } from "../../../src/broker/palace/upstream-lock.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

let home: string;
let locksDir: string;
const locks: UpstreamLock[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-lock-"));
  locksDir = join(home, ".mempalace/locks");
});
afterEach(() => {
  for (const lock of locks.splice(0)) lock.release();
  rmSync(home, { recursive: true });
});

function keep(palaceDir: string, onChange = (): void => {}): UpstreamLock {
  const lock = keepUpstreamLock({ palaceDir, locksDir, log: SILENT_LOG, onChange });
  locks.push(lock);
  return lock;
}

it("MemPalace's lock has the file name that upstream derives from the palace's path", () => {
  mkdirSync(join(home, ".mempalace"));
  // Source: palace.md, appendix of test vectors.
  expect(keep("/data/palace").status()).toEqual({
    state: "held",
    detail: join(locksDir, "mine_palace_9a994364b7c26031.lock"),
  });
});

it("MemPalace's lock is the same file through a link to the palace", () => {
  mkdirSync(join(home, ".mempalace"));
  symlinkSync(join(home, "real"), join(home, "link"));
  const byLink = keep(join(home, "link/palace")).status().detail;
  mkdirSync(join(home, "real/palace"), { recursive: true });
  const other = keep(join(home, "real/palace"));
  expect(other.status()).toMatchObject({ state: "waiting" });
  expect(other.lockedBy()).toMatchObject({ code: "PALACE_LOCKED" });
  expect(byLink).toMatch(/mine_palace_[0-9a-f]{16}\.lock$/);
});

it("the broker keeps byte 0 of MemPalace's lock file and writes its own name from byte 1 in upstream's form", () => {
  mkdirSync(locksDir, { recursive: true });
  const file = join(locksDir, "mine_palace_9a994364b7c26031.lock");
  writeFileSync(
    file,
    "\x0077 /usr/bin/mempalace mine /some/very/long/path/that/is/longer/than/what/we/write/there/at/all/".repeat(2),
  );
  const lock = keep("/data/palace");
  expect(readFileSync(file, "latin1")).toMatch(new RegExp(`^\\x00${process.pid} palace-devbox broker: [^\\x00]*$`));
  expect(lock.formerHolder()).toMatch(/^PID 77 \(\/usr\/bin\/mempalace mine/);
});

it("the broker makes no lock file in a HOME without MemPalace before a palace exists", async () => {
  const palaceDir = join(home, "elsewhere/palace");
  mkdirSync(palaceDir, { recursive: true });
  const lock = keep(palaceDir);
  expect(lock.status().state).toBe("none");
  expect(lock.lockedBy()).toBeUndefined();
  expect(existsSync(join(home, ".mempalace"))).toBe(false);
  writeFileSync(join(palaceDir, "chroma.sqlite3"), "");
  await expect.poll(() => lock.status().state, { timeout: 10_000 }).toBe("held");
});

it("a broker waits for the lock of another broker and takes the lock after its release", async () => {
  mkdirSync(join(home, ".mempalace"));
  const first = keep("/data/palace");
  let changes = 0;
  const second = keep("/data/palace", () => (changes += 1));
  expect(second.status().detail).toContain(`PID ${process.pid} (palace-devbox broker`);
  first.release();
  await expect.poll(() => second.status().state, { timeout: 10_000 }).toBe("held");
  expect(changes).toBe(2);
});

it("the broker takes MemPalace's lock again after the lock file was removed", async () => {
  mkdirSync(join(home, ".mempalace"));
  const lock = keep("/data/palace");
  const file = lock.status().detail;
  rmSync(locksDir, { recursive: true });
  await expect.poll(() => existsSync(file), { timeout: 10_000 }).toBe(true);
  expect(keep("/data/palace").status().state).toBe("waiting");
});

it("the broker works without MemPalace's lock if the lock folder cannot be made", () => {
  writeFileSync(join(home, ".mempalace"), "a file where the folder should be");
  const lock = keep("/data/palace");
  const detail = `no MemPalace can write from here, because ${locksDir} cannot be made`;
  expect(lock.status()).toEqual({ state: "none", detail });
  expect(lock.lockedBy()).toBeUndefined();
});
