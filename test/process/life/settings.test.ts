import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { findBroker } from "../../../src/wire/client/discover.ts";
import type { StatusReport } from "../../../src/protocol/spec.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

type Check = { name: string; state: string; detail: string; hint: string };
type Answer = { code: number | null; stdout: string; stderr: string; value: Record<string, unknown> };

async function palaceJson(palace: TestPalace, args: string[], env: Record<string, string> = {}): Promise<Answer> {
  const answer = await palace.run("palace", [...args, "--json"], { env });
  return { ...answer, value: JSON.parse(answer.stdout) as Record<string, unknown> };
}

function settingsFile(palace: TestPalace, content: string): string {
  const { home } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "settings.json"), content);
  return join(home, "settings.json");
}

async function askAndEnd(palace: TestPalace): Promise<StatusReport["search"]> {
  const { config } = palace;
  await expect.poll(() => findBroker(config)).toBeDefined();
  const client = await connectClient({ config, agent: "test", start: "never" });
  const search = async (): Promise<StatusReport["search"]> => (await client.call("palace.status", {})).search;
  await expect.poll(async () => (await search()).modelState).not.toBe("loading");
  const found = await search();
  await client.call("broker.stop", {});
  client.close();
  await expect.poll(() => findBroker(config)).toBeUndefined();
  return found;
}

test("three clients with different environments start a broker with the file's model folder, and a variable wins over the file", async () => {
  await using palace = createTestPalace();
  const model = writeTinyModel(join(palace.home, "model"));
  settingsFile(palace, `{\n  // Whoever starts it.\n  "model-dir": ${JSON.stringify(model)},\n}\n`);
  const starters: (() => Promise<unknown>)[] = [
    () => palace.run("mempalace-broker", ["--ensure"], { env: { MEMPALACE_MODEL_DIR: "", LANG: "de_DE.UTF-8" } }),
    async () => {
      const shim = await palace.shim({ MEMPALACE_AGENT_NAME: "pi", MEMPALACE_TOOLS: "light" });
      await shim.request("tools/list", {});
      await shim.close();
    },
    () => palace.run("palace", ["start"], { env: { XDG_CONFIG_HOME: join(palace.home, "other") } }),
  ];
  for (const start of starters) {
    await start();
    expect(await askAndEnd(palace)).toMatchObject({ mode: "hybrid", modelState: "ready" });
  }
  await palace.run("palace", ["start"], { env: { MEMPALACE_MODEL_DIR: join(palace.home, "nothing") } });
  const { checks } = (await palaceJson(palace, ["doctor", "--no-start"])).value as { checks: Check[] };
  expect(checks.find(({ name }) => name === "settings file")).toMatchObject({
    state: "ok",
    detail: expect.stringMatching(/settings\.json: model-dir from the file/),
  });
  expect(checks.find(({ name }) => name === "model-dir")).toMatchObject({
    state: "warn",
    detail: expect.stringMatching(/started with MEMPALACE_MODEL_DIR=.*nothing.*the file's/),
  });
  expect(await askAndEnd(palace)).toMatchObject({ mode: "lexical", modelDetail: expect.stringContaining("/nothing") });
});

test("a bad value stops the broker's start with an error that names file and key; an unknown key does not", async () => {
  await using palace = createTestPalace();
  const file = settingsFile(palace, `{ "of-a-newer-version": [1], "audit-days": 1 }`);
  const refused = await palaceJson(palace, ["start"]);
  expect(refused.value).toMatchObject({
    error: {
      code: "CONFIG_BAD_VALUE",
      message: `${file}: audit-days is 1, and takes a number from 30 on`,
      hint: expect.stringContaining("config set audit-days"),
    },
  });
  expect((await palace.run("palace", ["config", "unset", "audit-days"])).code).toBe(0);
  // Without a token the TCP door stays shut, but agents still reach their memory.
  const shut = await palace.run("palace", ["config", "set", "listen", "tcp://0.0.0.0:0"]);
  expect(shut).toMatchObject({ code: 0, stderr: expect.stringContaining("token add") });
  expect((await palace.run("palace", ["start"])).code).toBe(0);
  const { checks } = (await palaceJson(palace, ["doctor", "--no-start"])).value as { checks: Check[] };
  expect(checks.find(({ name }) => name === "settings file")).toMatchObject({
    state: "warn",
    detail: `${file}: of-a-newer-version is not a setting of this version, and is not used`,
  });
  expect(checks.find(({ name }) => name === "listen")).toMatchObject({
    state: "warn",
    detail: "the door tcp://0.0.0.0:0 of the file is shut",
  });
  expect((await palaceJson(palace, ["config", "set", "audit-days", "60"])).value).toMatchObject({
    takesEffect: "start",
  });
  const said = await palace.run("palace", ["doctor", "--no-start"]);
  expect(said.stdout).toMatch(/audit-days.*does not use the file's 60 yet.*restart/);
  // A restart that cannot succeed does not end the running broker, and other commands work.
  settingsFile(palace, `{ "audit-days": 2, "redact": }`);
  expect((await palaceJson(palace, ["restart"])).value).toMatchObject({ error: { code: "CONFIG_BAD_VALUE" } });
  expect(await palace.run("palace", ["status"])).toMatchObject({ code: 0, stderr: expect.stringContaining(file) });
});

test("config set refuses a value that a key does not accept, a secret and an unknown key, and changes nothing", async () => {
  await using palace = createTestPalace();
  const file = settingsFile(palace, `{ "redact": "strict" } // mine\n`);
  const before = readFileSync(file, "utf8");
  const cases: [string[], string, string][] = [
    [["redact", "some"], "CONFIG_BAD_VALUE", "config set redact recall"],
    [["model-dir", "models"], "CONFIG_BAD_VALUE", `config set model-dir ${process.cwd()}/models`],
    [["outcome-port", "70000"], "CONFIG_BAD_VALUE", "config set outcome-port on"],
    [["judge-key", "sk-1"], "CONFIG_USAGE", "MEMPALACE_JUDGE_KEY"],
    [["MEMPALACE_TOKEN", "t"], "CONFIG_USAGE", "MEMPALACE_TOKEN_FILE"],
    [["backup-passphrase", "p"], "CONFIG_USAGE", "config set backup-passphrase-file"],
    [["engine", "builtin"], "CONFIG_USAGE", "export MEMPALACE_ENGINE"],
    [["modeldir", "/m"], "CONFIG_USAGE", "config set model-dir"],
    [["redact"], "CONFIG_USAGE", "config set redact VALUE"],
  ];
  const answers = await Promise.all(cases.map(([args]) => palaceJson(palace, ["config", "set", ...args])));
  for (const [at, { code, value }] of answers.entries()) {
    const [args = [], error = "", hint = ""] = cases[at] ?? [];
    expect(value, args.join(" ")).toMatchObject({ error: { code: error, hint: expect.stringContaining(hint) } });
    expect(code).toBe(2);
  }
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("a pipe in place of the settings file is refused, because reading it would hang", async () => {
  await using palace = createTestPalace();
  const file = settingsFile(palace, "");
  rmSync(file);
  execFileSync("mkfifo", [file]);
  const { code, value } = await palaceJson(palace, ["config", "set", "audit-days", "60"]);
  expect([code, value]).toMatchObject([2, { error: { code: "CONFIG_BAD_VALUE" } }]);
});

test("config set refuses a remote broker's settings, and accepts the settings of this machine's agents", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_BROKER: "http://127.0.0.1:9" } });
  const { value } = await palaceJson(palace, ["config", "set", "model-dir", "/m"]);
  expect(value).toMatchObject({ error: { code: "CONFIG_USAGE", hint: expect.stringContaining("on that machine: ") } });
  expect((await palaceJson(palace, ["config", "set", "wake-up", "off"])).code).toBe(0);
});

test("commands that set keys at the same time lose no key, and comments stay", async () => {
  await using palace = createTestPalace();
  const file = settingsFile(palace, `{\n  // Mine.\n  "redact": "strict"\n}\n`);
  const sets = { "audit-days": 60, "backup-keep": 3, "backup-hours": 12, offline: true, "log-level": "warn" };
  const said = await Promise.all(
    Object.entries(sets).map(([key, value]) => palace.run("palace", ["config", "set", key, String(value)])),
  );
  expect(said.map(({ code }) => code)).toEqual(said.map(() => 0));
  const text = readFileSync(file, "utf8");
  expect(text).toContain("// Mine.");
  expect(JSON.parse(text.replace(/\/\/.*/, ""))).toEqual({ redact: "strict", ...sets });
});

test("a `config set` killed at any step leaves the old or the new file, and the next `config set` works", async () => {
  await using palace = createTestPalace();
  const file = settingsFile(palace, `{ "audit-days": 60 }\n`);
  for (const step of ["before-write", "before-sync", "before-rename", "after-rename"]) {
    const days = 61 + step.length;
    const killed = await palace.run("palace", ["config", "set", "audit-days", String(days)], {
      env: { MEMPALACE_FAULT: `file.${step}` },
    });
    expect(killed.code, step).not.toBe(0);
    const left = JSON.parse(readFileSync(file, "utf8")) as { "audit-days": number };
    expect(left["audit-days"], step).toBe(step === "after-rename" ? days : 60);
  }
  expect((await palace.run("palace", ["config", "set", "audit-days", "99"])).code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(`{ "audit-days": 99 }\n`);
});

test("the first `config set` makes a file that only its owner can read, and `config` names each setting's source", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: "" } });
  const { paths } = palace.config;
  expect((await palace.run("palace", ["config", "set", "wake-up", "off"])).code).toBe(0);
  const file = join(paths.home, "settings.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(paths.listenFile, JSON.stringify({ host: "127.0.0.1", port: 7780 }));
  const { settings } = (await palaceJson(palace, ["config"])).value as { settings: { key: string }[] };
  const found = Object.fromEntries(settings.map((row) => [row.key, row]));
  expect(found).toMatchObject({
    "wake-up": { value: "off", source: "file" },
    "idle-exit-minutes": { value: "2", source: "environment", variable: "MEMPALACE_IDLE_EXIT_MINUTES" },
    listen: { value: "tcp://127.0.0.1:7780", source: "remembered" },
    redact: { value: null, source: "default", default: "recall" },
  });
  expect((await palace.run("palace", ["config", "get", "wake-up"])).stdout).toBe("off\n");
  expect((await palace.run("palace", ["config", "path"])).stdout).toBe(`${file}\n`);
  expect(existsSync(paths.ledgerFile)).toBe(false);
});
