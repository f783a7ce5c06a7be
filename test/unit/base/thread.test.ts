import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { startThread } from "../../../src/base/thread.ts";

const folder = mkdtempSync(join(tmpdir(), "palace-thread-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the file of a thread that starts but answers no call. `more`: code that the thread runs for each call. */
function entry(name: string, more: string): URL {
  const file = join(folder, name);
  const opened = `parentPort.postMessage({ id: 0 }); parentPort.on("message", () => { ${more} });`;
  writeFileSync(file, `import { parentPort } from "node:worker_threads"; ${opened}`);
  return pathToFileURL(file);
}

test("every call to an ended thread fails, and the error has the thread's name", async () => {
  const thread = await startThread(entry("ledger-thread.mjs", "process.exit(3)"), {});
  const ended = { code: "STORE_UNAVAILABLE", message: "the ledger thread ended" };
  await expect(thread.call("any")).rejects.toMatchObject(ended);
  await expect(thread.call("any")).rejects.toMatchObject(ended);
  await thread.close();
});

test("a busy thread refuses calls beyond its limit, and the error has the thread's name", async () => {
  const thread = await startThread(entry("graph-thread.mjs", ""), {});
  const waiting = Array.from({ length: 4_096 }, () => thread.call("any").catch(() => "ended"));
  const refused = { code: "STORE_UNAVAILABLE", message: "too many calls wait for the graph thread" };
  await expect(thread.call("any")).rejects.toMatchObject(refused);
  await thread.close();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["ended"]));
});

test.each(["SQLITE_FULL", "ENOSPC", "EDQUOT"])("a thread reports a full disk (%s) with a hint", async (code) => {
  const file = join(folder, `${code}.mjs`);
  const source = new URL("../../../src/base/thread.ts", import.meta.url).href;
  const failing = `() => { throw Object.assign(new Error("no space"), { code: "${code}" }); }`;
  writeFileSync(file, `import { serveThread } from "${source}"; await serveThread(() => ({ write: ${failing} }));`);
  const thread = await startThread<{ write: () => void }>(pathToFileURL(file), {});
  const full = {
    code: "STORE_DISK_FULL",
    message: "the disk is full: no space",
    hint: expect.stringContaining("space") as string,
  };
  await expect(thread.call("write")).rejects.toMatchObject(full);
  await thread.close();
});

test("the young heap of a thread that makes many objects stays within 24 MiB", async () => {
  const answer = `
    let kept = [];
    for (let turn = 0; turn < 30; turn++) kept = Array.from({ length: 200_000 }, (_, at) => ({ at, turn }));
    const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
    parentPort.postMessage({ id: 1, value: young.physical_space_size });`;
  const file = entry("garbage-thread.mjs", answer);
  writeFileSync(file, `import { getHeapSpaceStatistics } from "node:v8"; ${readFileSync(file, "utf8")}`);
  const thread = await startThread<{ fill: () => number }>(file, {});
  expect(await thread.call("fill")).toBeLessThanOrEqual(24 * 1024 * 1024);
  await thread.close();
});
