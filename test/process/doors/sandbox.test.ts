import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { refusing, sandboxMissing, sandboxRuntime } from "../../helpers/sandbox.ts";

const reason = sandboxMissing();
if (reason !== undefined) console.log(`left out: sandboxes (${reason})`);

const { EPERM, EACCES } = constants.errno;
const drawer = JSON.stringify({ wing: "boxed", room: "r", content: "written inside a sandbox" });

type Ran = { code: number | null; stdout: string; stderr: string };

async function expectFiledLater(palace: TestPalace, count: number): Promise<void> {
  expect(readdirSync(palace.config.paths.spoolDir)).toHaveLength(count);
  await palace.run("palace", ["spool", "replay"]);
  const listed = await palace.run("palace", ["call", "list_drawers", '{"wing":"boxed"}', "--json"]);
  expect(JSON.parse(listed.stdout), listed.stderr).toMatchObject({ total: 1 });
}

describe.skipIf(reason)("a sandbox that refuses every socket", () => {
  for (const [name, errno] of Object.entries({ EPERM, EACCES }))
    for (const isRunning of [true, false])
      test(`${isRunning ? "with" : "without"} a broker outside, a read in a sandbox without sockets (${name}) gives the reason, and a write is spooled`, async () => {
        await using palace = createTestPalace();
        if (isRunning) await palace.startBroker();
        const env = refusing(palace.home, errno);
        const read = await palace.run("palace", ["search", "anything", "--json"], { env });
        expect(read.code, read.stderr).toBe(3);
        expect(read.stdout).toMatch(/TRANSPORT_SANDBOXED/);
        expect(read.stdout).toMatch(new RegExp(`a sandbox does not let this process open sockets \\(${name} at unix:`));
        const written = await palace.run("palace", ["call", "add_drawer", drawer, "--json"], { env });
        expect(JSON.parse(written.stdout), written.stderr).toMatchObject({ success: true, spooled: true });
        // No process has tried to start a broker, which would have made the log.
        expect(existsSync(palace.config.paths.logFile)).toBe(false);
        await expectFiledLater(palace, 1);
      });

  test("a write fails with two reasons if the sandbox refuses sockets and the home is only in memory", async () => {
    await using palace = createTestPalace();
    const env = { ...palace.env, ...refusing(palace.home, EPERM) };
    const box = ["--dev-bind", "/", "/", "--tmpfs", palace.home, "--ro-bind", env.LD_PRELOAD, env.LD_PRELOAD];
    const command = [...box, process.execPath, palace.executable("palace"), "call", "add_drawer", drawer];
    const refused = await promisify(execFile)("bwrap", command, { env: env as NodeJS.ProcessEnv }).then(
      (ran) => ({ code: 0, ...ran }),
      (error: Ran) => error,
    );
    expect(refused.code, refused.stdout).toBe(3);
    expect(refused.stderr).toMatch(/sandbox.*cannot be kept on this machine either: .*is in memory/);
  });

  test("in a sandbox that refuses every socket a shim answers the handshake, explains a failed read and spools a write", async () => {
    await using palace = createTestPalace();
    const shim = await palace.shim(refusing(palace.home, EPERM));
    await expect(shim.call("mempalace_search", { query: "anything" })).rejects.toThrow(/sandbox/);
    expect(JSON.stringify(await shim.call("mempalace_add_drawer", JSON.parse(drawer)))).toContain("spooled");
    await shim.close();
    expect(existsSync(palace.config.paths.logFile)).toBe(false);
    await expectFiledLater(palace, 1);
  });

  test("the hint after a refused socket names the setting of the sandbox in use, which environment variables identify", async () => {
    await using palace = createTestPalace();
    const hintIn = async (env: Record<string, string>): Promise<string> =>
      (await palace.run("palace", ["search", "x"], { env: { ...refusing(palace.home, EPERM), ...env } })).stderr;
    expect(await hintIn({})).toContain("allow UNIX sockets in the settings of the sandbox");
    expect(await hintIn({ CODEX_SANDBOX_NETWORK_DISABLED: "1" })).toContain("Codex has no setting");
    expect(await hintIn({ SANDBOX_RUNTIME: "1" })).toContain('"network":{"allowAllUnixSockets":true} into ~/.srt-');
    expect(await hintIn({ SANDBOX_RUNTIME: "1", CLAUDECODE: "1" })).toContain(
      '"sandbox":{"network":{"allowAllUnixSockets":true}} into ~/.claude/settings.json',
    );
  });

  test("in a sandbox `palace stop` changes nothing, and `palace doctor` names the sandbox", async () => {
    await using palace = createTestPalace();
    await palace.startBroker();
    const env = refusing(palace.home, EPERM);
    const stopped = await palace.run("palace", ["stop"], { env });
    expect(stopped.code).toBe(3);
    expect(stopped.stderr).toMatch(/sandbox/);
    const looked = await palace.run("palace", ["doctor"], { env });
    expect(looked.stdout + looked.stderr).toMatch(/a sandbox does not let this process open sockets/);
    // The broker keeps running, and clients outside still reach it or start the next one.
    expect((await palace.run("palace", ["search", "x"])).code).toBe(0);
    expect((await palace.run("palace", ["status"])).stdout).not.toMatch(/stopped by hand/);
  });
});

describe.skipIf(reason)("Claude Code's own sandbox (sandbox-runtime)", () => {
  // The home is in /var/tmp, because processes in the sandbox have their own /dev and would not see a home in /dev/shm.
  let home: string;
  beforeEach(() => {
    home = mkdtempSync("/var/tmp/palace-boxed-");
  });
  afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

  type Settings = { write?: string[]; network?: object };

  async function inside(palace: TestPalace, args: string[], { write = [], network = {} }: Settings = {}): Promise<Ran> {
    const settings = join(palace.home, "srt.json");
    writeFileSync(
      settings,
      JSON.stringify({
        network: { allowedDomains: [], deniedDomains: [], ...network },
        filesystem: { denyRead: [], allowWrite: write, denyWrite: [] },
      }),
    );
    const command = ["--settings", settings, process.execPath, palace.executable("palace"), ...args];
    const env = { ...palace.env, CLAUDECODE: "1" } as NodeJS.ProcessEnv;
    return promisify(execFile)(sandboxRuntime(), command, { env, cwd: palace.home }).then(
      (ran) => ({ code: 0, ...ran }),
      (error: Ran) => error,
    );
  }

  test("in Claude Code's sandbox a read names the setting that is missing, and the broker answers once it is set", async () => {
    await using palace = createTestPalace({ home });
    await palace.startBroker();
    const refused = await inside(palace, ["search", "anything"]);
    expect(refused.code, refused.stderr).toBe(3);
    expect(refused.stderr).toContain("allowAllUnixSockets");
    const allowed = await inside(palace, ["call", "add_drawer", drawer, "--json"], {
      network: { allowAllUnixSockets: true },
    });
    expect(JSON.parse(allowed.stdout), allowed.stderr).toMatchObject({ success: true });
    expect(allowed.stdout).not.toContain("spooled");
  });

  test("in Claude Code's sandbox a write is spooled if the sandbox may write to the home, and is refused otherwise", async () => {
    await using palace = createTestPalace({ home });
    const refused = await inside(palace, ["call", "add_drawer", drawer]);
    expect(refused.code, refused.stdout).toBe(3);
    expect(refused.stderr).toMatch(/sandbox.*cannot be kept on this machine either: .*cannot be written/);
    expect(refused.stderr.match(/allowAllUnixSockets/g)).toHaveLength(1);
    const kept = await inside(palace, ["call", "add_drawer", drawer, "--json"], { write: [palace.home] });
    expect(JSON.parse(kept.stdout), kept.stderr).toMatchObject({ success: true, spooled: true });
    expect(existsSync(palace.config.paths.logFile)).toBe(false);
    await expectFiledLater(palace, 1);
    expect(readFileSync(palace.config.paths.logFile, "utf8")).toContain("listening");
  });
});
