import { once } from "node:events";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { callOf, createSmallPalace, isAlive, openRaw, reportOf } from "../../helpers/child-engine.ts";
import { createTestPalace, ROOT } from "../../helpers/palace.ts";

const starts = (calls: string[]): string[] => calls.filter((line) => line.startsWith("start"));

test("after kill -9 of the child the interrupted write gets a typed error and is not repeated, a read is repeated, and waiting calls continue", async () => {
  await using palace = createSmallPalace();
  await palace.startBroker();
  const { pid: first } = await palace.report();
  const raw = await openRaw(palace);
  const key = { "palace/idempotencyKey": "doubt" };
  raw.send({ id: "write", ...callOf("add", { text: "doubt", ms: 60_000 }, key) });
  raw.send({ id: "waits", ...callOf("add", { text: "waits" }) });
  await expect.poll(() => palace.calls().some((line) => line.startsWith("add doubt"))).toBe(true);
  process.kill(first ?? 0, "SIGKILL");
  const lost = { error: { data: { code: "ENGINE_CALL_LOST", retryable: false } } };
  expect(await raw.next(({ id }) => id === "write")).toMatchObject(lost);
  expect(await raw.next(({ id }) => id === "waits")).toHaveProperty("result");
  // A repeat with the same key gets the same error, because the write may have been done.
  raw.send({ id: "again", ...callOf("add", { text: "doubt", ms: 60_000 }, key) });
  expect(await raw.next(({ id }) => id === "again")).toMatchObject(lost);
  expect(palace.calls().filter((line) => line.startsWith("add doubt"))).toHaveLength(1);

  const { pid: second, generation } = await palace.report();
  expect(generation).toBe(2);
  raw.send({ id: "read", ...callOf("look", { text: "twice", ms: 500 }) });
  await expect.poll(() => palace.calls().some((line) => line.startsWith("look twice"))).toBe(true);
  process.kill(second ?? 0, "SIGKILL");
  expect(await raw.next(({ id }) => id === "read")).toHaveProperty("result");
  expect(palace.calls().filter((line) => line.startsWith("look twice"))).toHaveLength(2);
  // A read that kills the child each time is tried twice, not for ever.
  raw.send({ id: "poison", ...callOf("look_crash") });
  expect(await raw.next(({ id }) => id === "poison")).toMatchObject(lost);
  expect(palace.calls().filter((line) => line.startsWith("look_crash"))).toHaveLength(2);
  expect(await palace.report()).toMatchObject({ lastError: { code: "ENGINE_UNAVAILABLE" } });
  raw.close();
});

test("a child that hangs is killed and replaced after the time-out, and its late answer is dropped", async () => {
  await using palace = createSmallPalace({ env: { MEMPALACE_ENGINE_TIMEOUT_SECONDS: "1" } });
  await palace.startBroker();
  const { pid } = await palace.report();
  const raw = await openRaw(palace);
  process.kill(pid ?? 0, "SIGSTOP");
  raw.send({ id: 1, ...callOf("add", { text: "stuck" }) });
  raw.send({ id: 2, ...callOf("look", { text: "next" }) });
  expect(await raw.next(({ id }) => id === 1)).toMatchObject({
    error: { data: { code: "ENGINE_TIMEOUT", retryable: false } },
  });
  expect(await raw.next(({ id }) => id === 2)).toHaveProperty("result");
  expect(isAlive(pid ?? 0)).toBe(false);
  expect(await palace.report()).toMatchObject({ generation: 2, lastError: { code: "ENGINE_TIMEOUT" } });
  // The time-out of one second begins again with each progress message, so a call with five steps of 0.4 s succeeds.
  raw.send({ id: 3, ...callOf("progress", { ms: 400 }, { progressToken: 9 }) });
  expect(await raw.next(({ id }) => id === 3)).toHaveProperty("result");
  raw.send({ id: 4, ...callOf("hang") });
  expect(await raw.next(({ id }) => id === 4)).toMatchObject({ error: { data: { code: "ENGINE_TIMEOUT" } } });
  expect(raw.received.filter(({ id }) => id !== undefined).map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  raw.close();
});

test("a child that dies at each start is started a few times with growing pauses; calls fail with the child's output, and the broker keeps running", async () => {
  await using palace = createSmallPalace({ mode: "crash-at-start" });
  const broker = await palace.startBroker();
  const client = await palace.client();
  await expect(client.callTool("look", {})).rejects.toMatchObject({
    code: "ENGINE_UNAVAILABLE",
    message: expect.stringMatching(/does not stay alive .*exit code 3.*no palace for you/) as string,
  });
  const failed = await palace.report();
  expect(failed).toMatchObject({ state: "failed", server: null });
  expect(failed.failures).toBeGreaterThanOrEqual(3);
  // Each further call fails at once and starts no child. The broker itself may try one more start.
  const before = starts(palace.calls()).length;
  for (let index = 0; index < 50; index++)
    await expect(client.callTool("look", {})).rejects.toMatchObject({ code: "ENGINE_UNAVAILABLE" });
  expect(starts(palace.calls()).length).toBeLessThanOrEqual(before + 1);
  const doctor = await palace.run("palace", ["doctor"]);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/FAIL\s+engine\s+command: failed.*no palace for you/);
  expect(broker.exitCode).toBe(null);
  client.close();
});

test("an engine command that is missing, or that is our own shim, fails with an error that gives the reason", async () => {
  await using missing = createTestPalace({ env: { MEMPALACE_ENGINE: "command:no-such-program --palace /tmp" } });
  await expect(startAndCall(missing)).rejects.toMatchObject({
    code: "ENGINE_UNAVAILABLE",
    message: expect.stringContaining("ENOENT") as string,
  });
  const shim = JSON.stringify([process.execPath, `${ROOT}/src/bin/mp-shim.ts`]);
  await using loop = createTestPalace({ env: { MEMPALACE_ENGINE: `command:${shim}` } });
  await expect(startAndCall(loop)).rejects.toMatchObject({
    code: "ENGINE_UNAVAILABLE",
    message: expect.stringContaining("a client of this very broker") as string,
    hint: expect.stringContaining("by its full path") as string,
  });
});

test("a child ends when its broker is killed; if the child hangs, the next broker ends it and then starts a new child", async () => {
  await using palace = createSmallPalace();
  const killBroker = async (): Promise<void> => {
    const broker = await palace.startBroker();
    const { pid } = await palace.report();
    if (stuck) process.kill(pid ?? 0, "SIGSTOP");
    const gone = once(broker, "exit");
    process.kill(readBrokerFile(palace.config.paths.brokerFile)?.pid ?? 0, "SIGKILL");
    await gone;
    left = pid ?? 0;
  };
  let left = 0;
  let stuck = false;
  await killBroker();
  await expect.poll(() => isAlive(left), { timeout: 20_000 }).toBe(false);
  stuck = true;
  await killBroker();
  expect(isAlive(left)).toBe(true);
  await palace.startBroker();
  const { pid, generation } = await palace.report();
  expect(isAlive(left)).toBe(false);
  expect(pid).not.toBe(left);
  expect(generation).toBe(1);
});

test("a second broker of another home starts no child on the same palace directory while the first broker has one", async () => {
  await using palace = createSmallPalace();
  const shared = `${palace.home}/shared`;
  const engine = JSON.parse((palace.env["MEMPALACE_ENGINE"] ?? "").slice("command:".length)) as string[];
  const setting = `command:${JSON.stringify([...engine, "--palace", shared])}`;
  await palace.startBroker({ MEMPALACE_ENGINE: setting });
  const { pid } = await palace.report();
  await using other = createTestPalace({ env: { MEMPALACE_ENGINE: setting } });
  await expect(startAndCall(other)).rejects.toMatchObject({
    code: "PALACE_LOCKED",
    message: expect.stringContaining(`pid ${pid}`) as string,
  });
  expect(starts(palace.calls())).toHaveLength(1);
  await palace.run("palace", ["stop"]);
  // The second broker tries again by itself.
  await expect.poll(async () => (await reportOf(other)).state, { timeout: 60_000, interval: 200 }).toBe("ready");
});

async function startAndCall(palace: ReturnType<typeof createTestPalace>): Promise<unknown> {
  await palace.startBroker();
  const client = await palace.client();
  return client.callTool("look", {}).finally(() => client.close());
}
