/** Tests of long jobs that do not answer. The list of jobs and the broker's end wait for them only for a limited time. */
import { expect, test } from "vitest";
import { Jobs } from "../../../src/broker/palace/jobs.ts";
import { readJobRequest } from "../../../src/broker/palace/maintenance.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

test("a job without an answer does not block the list of jobs or the broker's end", async () => {
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

test.each([5, false, { path: "/chroma" }])("an export refuses chroma = %j, which is not a path", (chroma) => {
  const asked = { kind: "export", dir: "/out", chroma };
  expect(() => readJobRequest(asked, { door: "unix" })).toThrow(/^chroma must be a path$/);
});

test.each(["/bin/chroma", null])("an export accepts chroma = %j", (chroma) => {
  const asked = { kind: "export", dir: "/out", chroma };
  expect(readJobRequest(asked, { door: "unix" })).toEqual({ ...asked, partial: false });
});
