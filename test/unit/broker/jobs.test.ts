/** Tests jobs that do not answer or do not end, and the arguments of an export. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { startThread } from "../../../src/base/thread.ts";
import { Jobs, type JobWork, onThread } from "../../../src/broker/palace/jobs.ts";
import { readJobRequest } from "../../../src/broker/palace/maintenance.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { StuckMethods } from "../../helpers/stuck-thread.ts";

test("a job that never answers blocks neither the list of jobs nor the broker's end", async () => {
  const jobs = new Jobs(SILENT_LOG);
  let isCancelled = false;
  const never = new Promise<never>(() => {});
  const { id } = jobs.start("repair", {}, () => ({
    run: () => never,
    progress: () => never,
    cancel: () => void (isCancelled = true),
  }));
  expect(await jobs.list()).toMatchObject([{ id, state: "running" }]);
  await jobs.close();
  expect(isCancelled).toBe(true);
});

test("an ending broker waits for a job that ends in time", async () => {
  const jobs = new Jobs(SILENT_LOG);
  const { promise, resolve } = Promise.withResolvers<Record<string, never>>();
  jobs.start("repair", {}, () => ({
    run: () => promise,
    progress: () => Promise.resolve({ step: "", done: 0, total: 0 }),
    cancel: () => setTimeout(() => resolve({}), 200),
  }));
  await jobs.close();
  expect(await jobs.list()).toMatchObject([{ state: "done" }]);
});

/** Writes into a pipe as soon as a thread waits to read from it. */
async function release(pipe = ""): Promise<void> {
  const fd = await vi.waitFor(() => openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK), { timeout: 30_000 });
  writeSync(fd, "bytes");
  closeSync(fd);
}

test("a cancelled job with a stuck thread ends, and while two threads are stuck the next job is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stuck-"));
  const pipes = ["a", "b", "c"].map((name) => join(folder, name));
  execFileSync("mkfifo", pipes);
  const jobs = new Jobs(SILENT_LOG);
  let begun = -1;
  const reading = (at: number): JobWork =>
    onThread(
      () => startThread<StuckMethods>(new URL("../../helpers/stuck-thread.ts", import.meta.url), null),
      async (thread) => {
        await thread.call("progress");
        begun = at;
        return thread.call("read", pipes[at] ?? "");
      },
      { mayLeave: true },
    );
  for (let left = 0; left < 2; left++) {
    const { id } = jobs.start("verify", { left }, () => reading(left));
    await expect.poll(() => begun).toBe(left);
    jobs.cancel(id);
    expect(await jobs.ended(id)).toMatchObject({ state: "cancelled", error: { code: "BROKER_CANCELLED" } });
  }
  const { id: refused } = jobs.start("verify", {}, () => reading(2));
  expect(await jobs.ended(refused)).toMatchObject({ state: "failed", error: { code: "BROKER_BUSY" } });
  // Lets the stuck threads continue and end.
  for (const pipe of pipes.slice(0, 2)) await release(pipe);
  let again = "";
  await expect
    .poll(async () => {
      const { id } = jobs.start("verify", {}, () => reading(2));
      again = id;
      return Promise.race([jobs.ended(id).then(({ state }) => state), sleep(200, "running")]);
    })
    .toBe("running");
  await release(pipes[2]);
  expect(await jobs.ended(again)).toMatchObject({ state: "done", result: { text: "bytes" } });
  rmSync(folder, { recursive: true });
});

test.each([5, false, { path: "/chroma" }])("an export refuses chroma = %j, which is not a path", (chroma) => {
  const asked = { kind: "export", dir: "/out", chroma };
  expect(() => readJobRequest(asked, { door: "unix" })).toThrow(/^chroma must be a path$/);
});

test.each(["/bin/chroma", null])("an export accepts chroma = %j", (chroma) => {
  const asked = { kind: "export", dir: "/out", chroma };
  expect(readJobRequest(asked, { door: "unix" })).toEqual({ ...asked, partial: false });
});
