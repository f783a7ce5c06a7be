/** Tests the lifetime lock of a palace: one broker has the lock and writes its own name into the lock file. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isHeldOnDemand, type LifetimeLock, makesWay, takeLock } from "../../../src/broker/life/lock.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-"));
  file = join(folder, "home/broker.lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a second broker gets the name of the lock's holder, and gets the lock after its release", () => {
  const first = takeLock(file, false) as LifetimeLock;
  expect(first.isHeld()).toBe(true);
  expect(takeLock(file, true)).toEqual({ heldBy: `broker ${process.pid}` });
  first.release();
  const second = takeLock(file, true) as LifetimeLock;
  expect(takeLock(file, false)).toEqual({ heldBy: `broker ${process.pid}, started on demand` });
  second.release();
});

test("the lock file says whether its broker was started on demand, and only such a broker ends when a permanent broker asks", () => {
  (takeLock(file, true) as LifetimeLock).release();
  expect(isHeldOnDemand(file)).toBe(true);
  (takeLock(file, false) as LifetimeLock).release();
  expect(readFileSync(file, "utf8")).toBe(`broker ${process.pid}\n`);
  expect([isHeldOnDemand(file), isHeldOnDemand(join(folder, "none"))]).toEqual([false, false]);
  expect([makesWay("broker 7, started on demand"), makesWay("broker 7")]).toEqual([true, false]);
});

test("a lock counts as lost after its file was removed or replaced", () => {
  const lock = takeLock(file, false) as LifetimeLock;
  renameSync(file, `${file}.old`);
  expect(lock.isHeld()).toBe(false);
  writeFileSync(file, "");
  expect(lock.isHeld()).toBe(false);
  renameSync(`${file}.old`, file);
  expect(lock.isHeld()).toBe(true);
  lock.release();
});

test("an unnamed holder is shown as another broker, and a folder that cannot be made causes an error", () => {
  const lock = takeLock(file, false) as LifetimeLock;
  writeFileSync(file, "");
  expect(takeLock(file, false)).toEqual({ heldBy: "another broker" });
  lock.release();
  mkdirSync(join(folder, "here"));
  writeFileSync(join(folder, "here/file"), "");
  expect(() => takeLock(join(folder, "here/file/broker.lock"), false)).toThrow(
    expect.objectContaining({ code: "STORE_READ_ONLY" }),
  );
});
