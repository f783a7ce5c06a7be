import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { makeSteppedClock } from "../../helpers/stepped-clock.ts";

const HOUR_MS = 3_600_000;
const isRoot = process.getuid?.() === 0 && process.platform === "linux";
if (!isRoot) console.log("left out: other users and small disks (they need root on Linux)");

type Said = Record<string, { state: string; detail: string; hint: string }>;

async function doctor(palace: TestPalace, env: Record<string, string | undefined> = {}): Promise<Said> {
  const { stdout } = await palace.run("palace", ["doctor", "--no-start", "--json"], { env });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string; hint: string }[] };
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

test("doctor warns if the broker's clock differs from this machine's", async () => {
  await using palace = createTestPalace();
  const clock = makeSteppedClock(palace.home);
  await palace.startBroker(clock.env);
  expect((await doctor(palace))["clock"]).toMatchObject({ state: "ok" });
  clock.step(-2 * HOUR_MS);
  await expect
    .poll(async () => (await doctor(palace))["clock"])
    .toMatchObject({ state: "warn", detail: expect.stringMatching(/behind this one/) });
});

test("doctor reports a token that the broker refuses", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.run("palace", ["token", "add", "box", "--days", "3"]);
  await palace.startBroker();
  expect((await doctor(palace))["tokens"]).toMatchObject({
    state: "warn",
    detail: expect.stringMatching(/^box expires on /),
  });
  const { stdout } = await palace.run("palace", ["token", "add", "other"]);
  await palace.run("palace", ["token", "revoke", "other"]);
  const box = {
    HOME: join(palace.home, "box"),
    MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
    MEMPALACE_LISTEN: undefined,
  };
  const said = await doctor(palace, { ...box, MEMPALACE_TOKEN: stdout.trim() });
  expect(said["token"]).toMatchObject({
    state: "fail",
    detail: expect.stringContaining("wrong, revoked or expired"),
    hint: expect.stringContaining("palace bridge token add"),
  });
  expect(said["tokens"]).toBeUndefined();
});

test.skipIf(!isRoot)("doctor warns of a nearly full disk", async () => {
  await using palace = createTestPalace();
  const { home } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  expect((await doctor(palace))["disk"]?.detail).toMatch(/^palace, state, spool: \S+ \S+ free/);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", home]);
  try {
    expect((await doctor(palace))["disk"]).toMatchObject({
      state: "warn",
      detail: expect.stringMatching(/^palace: \S+ MiB free; state, spool: .*a full disk refuses writes/),
      hint: expect.stringContaining(home),
    });
  } finally {
    execFileSync("umount", ["-l", home]);
  }
});

test.skipIf(!isRoot)("doctor warns if the broker's socket belongs to another user", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  expect((await doctor(palace))["uid"]).toMatchObject({
    state: "ok",
    detail: expect.stringContaining("the broker's socket"),
  });
  chownSync(palace.config.paths.socketPath, 12_345, 12_345);
  expect((await doctor(palace))["uid"]).toMatchObject({
    state: "warn",
    detail: expect.stringContaining("belongs to uid 12345"),
  });
});
