import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/** Script that answers /health as a broker with a much newer protocol does, and ends on SIGTERM as every broker does. */
const FUTURE = `
const [socket, health] = process.argv.slice(1);
require("node:http").createServer((request, response) => response.end(health)).listen(socket, () => console.log("up"));
process.on("SIGTERM", () => { console.log("drained"); process.exit(0); });`;

async function future(palace: TestPalace, claims: { pid?: number; instanceId?: string }): Promise<ChildProcess> {
  const { home, brokerFile } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  const socket = join(palace.home, "future.sock");
  const health = { status: "ready", instanceId: "it", version: "9.0.0", protocol: { min: 90, max: 99 } };
  const child = spawn(process.execPath, ["-e", FUTURE, socket, JSON.stringify(health)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const doors = [{ kind: "unix", path: socket }];
  writeFileSync(
    brokerFile,
    JSON.stringify({ ...health, schema: 1, pid: child.pid, bootId: "b", startedAtMs: 0, doors, ...claims }),
  );
  return child;
}

test("stop ends a process that /health confirms as the broker in broker.json", async () => {
  await using palace = createTestPalace();
  const child = await future(palace, {});
  const ended = once(child, "exit");
  expect(await palace.run("palace", ["status"])).toMatchObject({ code: 4 });
  expect(await palace.run("palace", ["stop"])).toMatchObject({ code: 0 });
  expect(await ended).toEqual([0, null]);
});

test("stop never signals a pid that /health does not confirm", async () => {
  await using palace = createTestPalace();
  const bystander = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], { stdio: "ignore" });
  const child = await future(palace, { pid: bystander.pid ?? 0 });
  try {
    const { code, stderr } = await palace.run("palace", ["stop"]);
    expect([code, stderr]).toEqual([4, expect.stringContaining("cannot be identified")]);
    expect([bystander.exitCode, bystander.signalCode, child.exitCode]).toEqual([null, null, null]);
  } finally {
    bystander.kill("SIGKILL");
    child.kill("SIGKILL");
  }
});
