/** Tests the files of `palace start --at-login` with the parsers of the systems that read them. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { isOurs, makeUnit, managerOf, type Unit } from "../../../src/cli/at-login/unit.ts";
import { planStart, planStop } from "../../../src/cli/at-login/service.ts";
import { executable } from "../../../src/cli/executable.ts";
import { loadConfig } from "../../../src/config/config.ts";
import type { Env } from "../../../src/config/env.ts";

const home = mkdtempSync(join(tmpdir(), "palace at-login-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Characters with a meaning in a unit or in XML. */
const AWKWARD = `a b"c\\d%h$HOME&<e>'f`;

/** Returns why the test is skipped if the program is missing. With CI=true it throws instead. */
function without(program: string): string | undefined {
  const { error } = spawnSync(program, ["--version"]);
  if (error === undefined) return undefined;
  if (process.env["CI"] === "true") throw new Error(`${program} is missing`);
  console.log(`left out: what ${program} says of the file (it is not installed)`);
  return `${program} is not installed`;
}

function unit(manager: "systemd" | "launchd", env: Env = {}, palace?: string): Unit {
  return makeUnit(manager, loadConfig({ HOME: home, ...env }, { palace }));
}

function verify({ file, content }: Unit): { status: number | null; said: string } {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  const runtime = join(home, "run");
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const env = { PATH: process.env["PATH"], HOME: home, XDG_RUNTIME_DIR: runtime };
  const { status, stderr } = spawnSync("systemd-analyze", ["--user", "verify", file], { env, encoding: "utf8" });
  // Only lines about our file count: other units of a container are often incomplete.
  return {
    status,
    said: stderr
      .split("\n")
      .filter((line) => line.includes("palace-broker"))
      .join("\n"),
  };
}

test.skipIf(without("systemd-analyze"))("systemd accepts the unit, also with awkward paths and values", () => {
  expect(verify(unit("systemd"))).toEqual({ status: 0, said: "" });
  const awkward = { MEMPALACE_PATH: join(home, AWKWARD), MEMPALACE_CHROMA_URL: "http://127.0.0.1:1/%20" };
  expect(verify(unit("systemd", awkward))).toEqual({ status: 0, said: "" });
  expect(verify(unit("systemd", {}, join(home, AWKWARD, "palace")))).toEqual({ status: 0, said: "" });
  // `verify` reports the fault of a wrong unit, so the checks above mean something.
  const { file, content } = unit("systemd");
  const { status, said } = verify({
    ...unit("systemd"),
    file,
    content: content.replace('ExecStart="', 'ExecStart="no/'),
  });
  expect([status === 0, said]).toEqual([false, expect.stringContaining("no/")]);
});

test.skipIf(without("python3"))("the launchd agent is a property list with every path and value unchanged", () => {
  const palace = join(home, AWKWARD, "palace");
  const { file, content, name } = unit("launchd", { MEMPALACE_LOG_LEVEL: "debug", NO_PROXY: AWKWARD }, palace);
  const script = "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
  const list: unknown = JSON.parse(execFileSync("python3", ["-c", script], { input: content, encoding: "utf8" }));
  expect(list).toEqual({
    Label: name,
    ProgramArguments: [...executable("mempalace-broker"), "--at-login", "--palace", palace],
    EnvironmentVariables: { MEMPALACE_LOG_LEVEL: "debug", NO_PROXY: AWKWARD, MEMPALACE_IDLE_EXIT_MINUTES: "0" },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 60,
    ExitTimeOut: 60,
  });
  expect(file).toBe(join(home, "Library/LaunchAgents", `${name}.plist`));
  expect(isOurs(content)).toBe(true);
});

test("each palace has its own unit, and the unit of the default palace has the short name", () => {
  expect(unit("systemd").file).toBe(join(home, ".config/systemd/user/palace-broker.service"));
  expect(unit("systemd", { XDG_CONFIG_HOME: join(home, "x") }).file).toBe(
    join(home, "x/systemd/user/palace-broker.service"),
  );
  const [a, b] = ["a", "b"].map((name) => unit("systemd", {}, join(home, name)).name);
  expect(a).toMatch(/^palace-broker-[\da-f]{8}$/);
  expect(a).not.toBe(b);
});

test("the unit has the broker's variables that are set, but no secret and no other variable", () => {
  const env = {
    MEMPALACE_PATH: join(home, "memory"),
    MEMPALACE_LISTEN: "tcp://127.0.0.1:7780",
    MEMPALACE_CHROMA_TOKEN: "hidden-1",
    HTTPS_PROXY: "ada:hidden-2@proxy:3128",
    MEMPALACE_JUDGE_URL: "https://judge.example/v1?api_key=hidden-5",
    MEMPALACE_TOKEN: "hidden-3",
    OTHER: "other",
  };
  const { content, left } = unit("systemd", env);
  expect(content.match(/^Environment=.*$/gm)).toEqual([
    `Environment="MEMPALACE_PATH=${join(home, "memory")}"`,
    'Environment="MEMPALACE_LISTEN=tcp://127.0.0.1:7780"',
    'Environment="MEMPALACE_IDLE_EXIT_MINUTES=0"',
  ]);
  expect(left.toSorted()).toEqual(["HTTPS_PROXY", "MEMPALACE_CHROMA_TOKEN", "MEMPALACE_JUDGE_URL"]);
  expect(content).not.toMatch(/hidden|other/);
  expect(unit("systemd").content.match(/^Environment=/gm)).toHaveLength(1);
});

test("start --at-login refuses a broker on another machine and an unknown system, and names the next command", () => {
  const config = loadConfig({ HOME: home, MEMPALACE_BROKER: "http://elsewhere:7780" });
  expect(() => planStart(config)).toThrow(/does not run on this machine.*http:\/\/elsewhere:7780/);
  expect(planStop(loadConfig({ HOME: home }), "freebsd")).toBeUndefined();
  expect(() => managerOf("freebsd", loadConfig({ HOME: home }))).toThrow(
    expect.objectContaining({ code: "CONFIG_USAGE", hint: expect.stringMatching(/mempalace-broker\S* --at-login$/) }),
  );
});
