import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkAgents } from "../../../src/cli/report/agents.ts";
import { wiringParts } from "../../../src/cli/report/wiring.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { install, uninstall, wiringOf } from "../../../src/agents/install/install.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";

const CLAUDE = '{\n  "numStartups":   3\n}\n';
const SETTINGS = '{"hooks": {"Stop": []}}';
/** Kill points: between two files, and after a file is written but before it is renamed. */
const FAULTS = ["install.step", "file.before-rename"];
const STEPS_MAX = 40;

type Answer = { agents: Record<string, unknown>[]; skipped?: string[] };

async function json(palace: TestPalace, ...args: string[]): Promise<{ code: number | null; value: Answer }> {
  const { code, stdout } = await palace.run("palace", [...args, "--json"]);
  return { code, value: JSON.parse(stdout) as Answer };
}

function settle(home: string): void {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(join(home, ".claude"), { recursive: true });
  writeFileSync(join(home, ".claude.json"), CLAUDE);
  writeFileSync(join(home, ".claude/settings.json"), SETTINGS);
}

const texts = (home: string): string[] =>
  [".claude.json", ".claude/settings.json"].map((name) => readFileSync(join(home, name), "utf8"));

const files = (home: string): string[] =>
  readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes(".local"))
    .map((entry) => entry.name)
    .sort();

test("install --all wires the installed agents, and uninstall restores every byte", async () => {
  await using palace = createTestPalace({ env: { PATH: "/usr/bin:/bin" } });
  settle(palace.home);
  expect((await json(palace, "agents")).value.agents).toMatchObject([
    { agent: "claude-code", found: true, state: "not wired", config: join(palace.home, ".claude.json") },
    { agent: "opencode", found: false, state: "not found" },
    { agent: "pi", found: false, state: "not found" },
  ]);
  const dry = await json(palace, "install", "all", "--dry-run");
  expect(dry.value).toMatchObject({ dryRun: true, agents: [{ agent: "claude-code", changed: true }] });
  expect(dry.value.agents[0]?.["diff"]).toContain('+  "mcpServers": {');
  expect(texts(palace.home)).toEqual([CLAUDE, SETTINGS]);

  expect(await json(palace, "install", "all")).toMatchObject({ code: 0, value: { skipped: ["opencode", "pi"] } });
  const wired = texts(palace.home);
  expect(wired[0]).toContain(`"command": "${ROOT}/scripts/palace"`);
  expect(wired[1]).toContain(`${ROOT}/scripts/palace hook claude-code`);
  const again = await palace.run("palace", ["install", "claude-code"]);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("already wired") });
  expect(texts(palace.home)).toEqual(wired);
  expect((await json(palace, "agents")).value.agents[0]).toMatchObject({ state: "wired" });

  expect((await json(palace, "install", "--uninstall", "all")).code).toBe(0);
  expect(texts(palace.home)).toEqual([CLAUDE, SETTINGS]);
  expect(existsSync(join(palace.home, ".mempalace"))).toBe(false);
});

test("install wires a named agent that is missing on this machine, and continues after a failure", async () => {
  await using palace = createTestPalace({ env: { PATH: "/usr/bin:/bin" } });
  const named = await palace.run("palace", ["install", "pi"]);
  expect(named).toMatchObject({ code: 0, stderr: expect.stringContaining("not on the PATH") });
  settle(join(palace.home, "x"));
  mkdirSync(join(palace.home, ".config/opencode"), { recursive: true });
  writeFileSync(join(palace.home, ".config/opencode/opencode.json"), '{\n"a" 1}');
  const { code, value } = await json(palace, "install", "all");
  expect(code).toBe(2);
  expect(value.agents).toMatchObject([
    { agent: "opencode", error: { code: "CONFIG_BAD_VALUE", message: expect.stringContaining("line 2, column 5") } },
    { agent: "pi", changed: false },
  ]);
  expect(await palace.run("palace", ["install", "claud"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("did you mean claude-code?"),
  });
  const codex = await palace.run("palace", ["install", "codex"]);
  expect(codex.stdout).toContain("[mcp_servers.mempalace]");
});

test("install, agents and doctor name a competing entry and the command that removes it", async () => {
  await using palace = createTestPalace({ env: { PATH: "/usr/bin:/bin" } });
  settle(palace.home);
  const server = { mcpServers: { mempalace: { command: "python3", args: ["-m", "mempalace.mcp_server"] } } };
  writeFileSync(join(palace.home, ".claude.json"), JSON.stringify({ projects: { [palace.home]: server } }));
  const takeOut = `cd ${palace.home} && claude mcp remove mempalace -s local`;
  const installed = await palace.run("palace", ["install", "claude-code"]);
  expect(installed.code).toBe(0);
  expect(installed.stdout).toContain("claude-code: wired, but another entry replaces ours or runs beside it");
  expect(installed.stderr).toContain(`Claude Code runs it instead of ours in ${palace.home}\n  ${takeOut}`);
  expect((await json(palace, "agents")).value.agents[0]).toMatchObject({ state: "conflict", rivals: [{ takeOut }] });
  expect(checkAgents(loadConfig(palace.env))).toMatchObject([{ name: "agents", state: "warn", hint: takeOut }]);
});

test("status, install and doctor name opencode 1 or opencode 2, depending on the installed version", async () => {
  const bin = mkdtempSync(join(tmpdir(), "opencode-program-"));
  await using palace = createTestPalace({ env: { PATH: `${bin}:/usr/bin:/bin` } });
  const use = (version: string): void =>
    writeFileSync(join(bin, "package.json"), JSON.stringify({ name: "opencode-ai", version }));
  const status = async (): Promise<string> => (await palace.run("palace", ["install", "status"])).stdout;
  const doctor = (): string[] => checkAgents(loadConfig(palace.env)).map(({ detail }) => detail);
  try {
    writeFileSync(join(bin, "opencode"), "#!/bin/sh\n", { mode: 0o755 });
    expect((await json(palace, "install", "status")).value.agents[1]).toMatchObject({
      version: null,
      generation: null,
    });
    expect(await status()).toMatch(/opencode 1 or 2\t-\tnot wired/);
    expect((await palace.run("palace", ["install", "opencode"])).stdout).toContain("which opencode 2 reads too");
    use("1.18.33");
    expect(await status()).toMatch(/opencode 1\t1\.18\.33\twired/);
    expect(doctor()).toEqual([]);
    use("2.2.6");
    expect((await json(palace, "install", "status")).value.agents[1]).toMatchObject({
      generation: 2,
      state: "drifted",
    });
    expect(doctor()).toEqual([expect.stringMatching(/^opencode 2: wired by/)]);
    await palace.run("palace", ["install", "opencode"]);
    expect(await status()).toMatch(/opencode 2\t2\.2\.6\twired/);
    expect(doctor()).toEqual([]);
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
});

test("install --dry-run prints the lines for a read-only file, and install status reports the file as read-only", async () => {
  await using palace = createTestPalace({ env: { PATH: "/usr/bin:/bin" } });
  settle(palace.home);
  chmodSync(join(palace.home, ".claude/settings.json"), 0o444);
  const dry = await palace.run("palace", ["install", "claude-code", "--dry-run"]);
  expect(dry.code).toBe(0);
  expect(dry.stdout).toContain("claude-code: cannot be wired: a file is read-only");
  expect(dry.stdout).toContain("palace hook claude-code || :");
  expect(dry.stderr).toContain("put the lines below into the file that this file is made from");
  const status = await palace.run("palace", ["install", "status"]);
  expect(status.stdout).toMatch(/claude-code\t-\tread-only/);
  expect(status.stderr).toContain("palace install claude-code --dry-run prints the missing lines");
});

for (const verb of ["install", "uninstall"] as const)
  test(`a kill at any step of ${verb} leaves each file old or new, and the next run finishes`, async () => {
    await using palace = createTestPalace({ env: { PATH: "/usr/bin:/bin" } });
    const parts = wiringParts(loadConfig(palace.env), undefined);
    settle(palace.home);
    install("claude-code", parts, false);
    const wired = texts(palace.home);
    for (const fault of FAULTS) {
      let step = 1;
      for (; step < STEPS_MAX; step += 1) {
        settle(palace.home);
        if (verb === "uninstall") install("claude-code", parts, false);
        const env = { MEMPALACE_FAULT: `${fault}:${step}` };
        const { code } = await palace.run("palace", [verb, "claude-code"], { env });
        const left = texts(palace.home);
        const why = `${fault}:${step}`;
        for (const [at, text] of left.entries()) expect([[CLAUDE, SETTINGS][at], wired[at]], why).toContain(text);
        if (code === 0) break;
        // After a killed run of either verb, `install` and `uninstall` must both work.
        if (step % 2 === 0) {
          install("claude-code", parts, false);
          expect(wiringOf("claude-code", parts), why).toBe("wired");
          expect(texts(palace.home), why).toEqual(wired);
        }
        uninstall("claude-code", parts, false);
        expect(texts(palace.home), why).toEqual([CLAUDE, SETTINGS]);
        expect(files(palace.home), why).toEqual([".claude.json", "settings.json"]);
      }
      expect(step, fault).toBeGreaterThan(2);
      expect(step, fault).toBeLessThan(STEPS_MAX);
    }
  }, 300_000);
