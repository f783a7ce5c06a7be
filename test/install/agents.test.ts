/** Tests the installer of the pinned coding agents with the real registry. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AGENTS, installAgents } from "../../scripts/agents.ts";
import { ROOT } from "../../scripts/main.ts";

const SCRIPT = join(ROOT, "scripts/agents.ts");
/** Options that leave only the smallest agent, because every agent is installed in the same way. */
const ONE = ["--without", "opencode", "--without", "claude"];

describe("the coding agents", () => {
  let scene: string;
  beforeAll(() => void (scene = mkdtempSync(join(tmpdir(), "palace-agents-"))));
  afterAll(() => rmSync(scene, { recursive: true, force: true }));
  const log = (): void => {};

  test("the installer installs each agent once and skips excluded agents", async () => {
    const folder = join(scene, "once");
    const options = { folder, env: process.env, log, agents: ["pi"] as const };
    expect(await installAgents(options)).toBe(true);
    expect(readdirSync(join(folder, "bin"))).toEqual(["pi"]);
    const { stdout } = await execa(join(folder, "bin/pi"), ["--version"], { env: { HOME: scene } });
    const pins = JSON.parse(readFileSync(join(ROOT, "scripts/agents.json"), "utf8")) as { pi: { version: string } };
    expect(stdout).toBe(pins.pi.version);
    expect(await installAgents(options)).toBe(false);
  });

  test("a killed installer does not change the installed agents, and the next run removes its draft folder", async () => {
    const folder = join(scene, "killed");
    mkdirSync(join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "made-from"), "other pins");
    const child = spawn(process.execPath, [SCRIPT, ...ONE, folder], { env: process.env, stdio: "ignore" });
    const draft = `killed.new-${child.pid}`;
    while (child.exitCode === null && !existsSync(join(scene, draft, "pi"))) await delay(5);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(readFileSync(join(folder, "made-from"), "utf8")).toBe("other pins");
    expect(readdirSync(scene)).toContain(draft);
    await execa(process.execPath, [SCRIPT, ...ONE, folder]);
    expect(readdirSync(scene).filter((name) => name.startsWith("killed"))).toEqual(["killed"]);
    expect(readdirSync(folder).sort()).toEqual(["bin", "made-from", "pi"]);
  });

  test("the installer refuses an unknown agent and prints the command for its help", async () => {
    const done = await execa(process.execPath, [SCRIPT, "--without", "nobody"], { reject: false });
    expect(done).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("node scripts/agents.ts --help") });
    expect(AGENTS).toHaveLength(3);
  });
});
