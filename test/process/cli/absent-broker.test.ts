import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeSettings } from "../../../src/wire/bridge/settings.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { total, watchTimers } from "../../helpers/waited-timers.ts";

/** Maximum total time, ms, that a command's own timers may wait while no broker answers. */
const AT_ONCE_MS = 1_000;
const drawer = { wing: "away", room: "r", content: "written while the broker was away" };

const isRoot = process.getuid?.() === 0;

/** Makes the palace read-only with a dead socket, as in a devbox whose broker is down. */
function mountReadOnly({ config }: TestPalace): Disposable {
  const { home } = config.paths;
  execFileSync("mount", ["--bind", home, home]);
  execFileSync("mount", ["-o", "remount,bind,ro", home]);
  return { [Symbol.dispose]: () => execFileSync("umount", ["-l", home]) };
}

type Env = { MEMPALACE_BROKER: string | undefined };

async function runAtOnce(palace: TestPalace, args: readonly string[], env: Env): ReturnType<TestPalace["run"]> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "absent-"));
  const timers = watchTimers(folder.path);
  const result = await palace.run("palace", [...args], { env: { ...env, ...timers.env } });
  const waited = timers.take();
  expect(total(waited), `${args.join(" ")}: ${waited.join(", ")}`).toBeLessThan(AT_ONCE_MS);
  return result;
}

async function expectAtOnce(palace: TestPalace, broker: string | undefined, code: number): Promise<void> {
  const env = { MEMPALACE_BROKER: broker };
  for (const args of [["search", "anything"], ["call", "status", "{}"], ["doctor"]]) {
    const { code: got, stdout, stderr } = await runAtOnce(palace, args, env);
    expect(got, stdout + stderr).toBe(args[0] === "doctor" ? 1 : code);
    expect(stdout + stderr, args.join(" ")).toMatch(/no broker/);
  }
  const written = await palace.run("palace", ["call", "add_drawer", JSON.stringify(drawer), "--json"], { env });
  expect(JSON.parse(written.stdout), written.stderr).toMatchObject({ success: true, spooled: true });
  expect(written.code).toBe(0);
}

test("a command says at once that MEMPALACE_BROKER does not answer, and spools its write", async () => {
  await using palace = createTestPalace();
  await expectAtOnce(palace, `unix:${palace.config.paths.socketPath}`, 3);
  const refused = await palace.run("palace", ["call", "add_drawer", '{"wing":"w"}'], {
    env: { MEMPALACE_BROKER: `unix:${palace.config.paths.socketPath}` },
  });
  expect(refused.stderr).toMatch(/Missing required/);
  await palace.startBroker();
  const listed = await palace.run("palace", ["call", "list_drawers", '{"wing":"away"}', "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ total: 1 });
});

test.runIf(isRoot)("a command reports at once that a read-only palace has no broker", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  broker.kill("SIGKILL");
  await new Promise((resolve) => broker.once("exit", resolve));
  using _mount = mountReadOnly(palace);
  await expectAtOnce(palace, undefined, 7);
  expect(readdirSync(palace.config.paths.spoolDir)).toHaveLength(1);
});

// `palace devbox down` removes the containers. This test's `docker` is a script that fails like `docker inspect` without a container.
test.each(["start", "restart", "stop"])("palace %s says how to start a stopped compose stack", async (verb) => {
  await using palace = createTestPalace();
  const bin = join(palace.home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "docker"), "#!/bin/sh\necho 'Error: No such object: box-broker-1' >&2\nexit 1\n");
  chmodSync(join(bin, "docker"), 0o755);
  const where = { target: "docker:box-broker-1", host: "box-broker-1", port: 0, user: "", hostKey: "" };
  writeSettings(palace.config.paths, { schema: 1, ...where, kind: "docker" });
  const { code, stderr } = await palace.run("palace", [verb], {
    env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` },
  });
  expect(code).toBeGreaterThan(0);
  expect(stderr).toContain("there is no container box-broker-1");
  expect(stderr).toContain("palace devbox up");
});
