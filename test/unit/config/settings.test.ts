/** Tests the settings file. The environment wins over it, and the error for an invalid value names file and key. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Config, loadConfig } from "../../../src/config/config.ts";
import { type Env, readSetting } from "../../../src/config/env.ts";
import { harnessEnv, readHarness } from "../../../src/config/harness.ts";
import { assertSettings } from "../../../src/config/settings.ts";
import { type Setting, SETTING_KEYS, SETTINGS, variableOf } from "../../../src/config/settings-table.ts";
import { asText, asVariable, parseValue } from "../../../src/config/settings-value.ts";

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "settings-"));
  mkdirSync(join(home, ".mempalace"));
  file = join(home, ".mempalace/settings.json");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function load(content: unknown, env: Env = {}): Config {
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return loadConfig({ HOME: home, ...env });
}

test("a secret from the environment is sent only to an address from the environment", () => {
  const env = { HOME: home, MEMPALACE_JUDGE_KEY: "sk-mine", MEMPALACE_CHROMA_TOKEN: "chroma-secret" };
  const foreign = {
    "judge-url": "http://evil.example/v1",
    "judge-model": "m",
    "chroma-url": "http://evil.example:8000",
  };
  const config = load(foreign, env);
  expect(config.chroma).toMatchObject({ url: "http://evil.example:8000", token: undefined });
  expect(readHarness(harnessEnv(env)).judge).toMatchObject({ url: "http://evil.example/v1", key: undefined });
  const named = { ...env, MEMPALACE_JUDGE_URL: "http://mine/v1", MEMPALACE_CHROMA_URL: "http://mine:8000" };
  expect(load(foreign, named).chroma).toMatchObject({ url: "http://mine:8000", token: "chroma-secret" });
  expect(readHarness(harnessEnv(named)).judge).toMatchObject({ url: "http://mine/v1", key: "sk-mine" });
});

test("the settings file may have comments, trailing commas, a byte order mark and values as text", () => {
  const config = load(`\uFEFF// mine
  {
    "model-dir": "~/m,} //x", /* "offline": true, */
    "offline": "yes",
    "idle-exit-minutes": "0",
    "mine-roots": ["/a", "~/b",],
    "allowed-hosts": "x, y",
    "hooks-auto-save": false,
  }`);
  expect(config.settings.faults).toEqual([]);
  expect(config).toMatchObject({
    model: { dir: `${home}/m,} /x`, offline: true },
    ...{ idleExitMs: 0, mineRoots: ["/a", `${home}/b`], allowedHosts: ["x", "y"], hooks: { autoSave: false } },
  });
});

test("the environment wins over the file, and each value names its source", () => {
  const env = { MEMPALACE_MODEL_DIR: "/env", MEMPALACE_OFFLINE: " ", MEMPAL_ENTITY_LANGUAGES: "de" };
  const config = load({ "model-dir": "/file", offline: true, "entity-languages": ["fr"] }, env);
  expect(config.model).toMatchObject({ dir: "/env", offline: true });
  expect(config.filing().languages).toEqual(["de"]);
  expect(config.settings.told()).toMatchObject([
    { key: "model-dir", value: "/env", source: "environment", variable: "MEMPALACE_MODEL_DIR" },
    { key: "offline", value: "on", source: "file" },
    { key: "entity-languages", value: "de", source: "environment", variable: "MEMPAL_ENTITY_LANGUAGES" },
  ]);
});

test.each([
  ["idle-exit-minutes", -1],
  ["audit-days", 3],
  ["redact", "nope"],
  ["model-dir", "models"],
  ["listen", "everywhere"],
  ["outcome-port", 70_000],
  ["offline", 7],
  ["chroma-url", "http://me:secret@host"],
  ["mine-roots", ["/a", 1]],
])("the value of %s cannot be %j: a broker refuses it, and other programs ignore it", (key, value) => {
  const { settings } = load({ [key]: value, "log-level": "warn" });
  expect(settings.faults).toMatchObject([
    { kind: "value", key, hint: expect.stringContaining(`palace config set ${key}`) },
  ]);
  expect(settings.faults[0]?.message).toContain(`${file}: ${key} is `);
  expect(() => assertSettings(settings)).toThrow(expect.objectContaining({ code: "CONFIG_BAD_VALUE" }) as Error);
  expect(settings.told().map((one) => one.key)).toEqual(["log-level"]);
});

test("the settings reader warns of an unknown key and does not read a secret from the file", () => {
  const config = load({ "of-a-newer-version": 1, token: "t0p", $schema: "x" });
  expect(config.settings.faults).toMatchObject([
    { kind: "unknown", key: "of-a-newer-version", message: expect.stringContaining(file) },
    { kind: "unknown", key: "token", hint: expect.stringContaining("MEMPALACE_TOKEN_FILE") },
  ]);
  expect(() => assertSettings(config.settings)).not.toThrow();
  expect(config.token()).toBeUndefined();
});

test.each(["[]", "{", '"x"', '{"offline" true}'])(
  "the settings reader refuses a file with %s and names the file",
  (text) => {
    const { settings } = load(text);
    expect(settings.faults).toMatchObject([{ kind: "file", message: expect.stringContaining(file) }]);
    expect(() => assertSettings(settings)).toThrow(file);
  },
);

test("an empty or missing file sets no value", () => {
  expect(load("").settings).toMatchObject({ faults: [], file: { isThere: true } });
  rmSync(file);
  expect(loadConfig({ HOME: home }).settings).toMatchObject({ faults: [], file: { isThere: false } });
});

test("doors in the settings file are in `lastingDoors`; the field `listen` has only the door of the environment", () => {
  const { listen, lastingDoors } = load({ listen: "tcp://127.0.0.1:7780", "outcome-port": "off" });
  expect(listen).toBeUndefined();
  expect(lastingDoors).toEqual({ listen: { host: "127.0.0.1", port: 7780 }, outcomePort: "off" });
});

test("extensions and hooks read their palace's settings file", () => {
  load({
    outcomes: true,
    "wake-up": false,
    "judge-url": "http://127.0.0.1:1/v1",
    "judge-model": "m",
    "test-commands": ["just check", "./ci"],
  });
  expect(readHarness(harnessEnv({ HOME: home }))).toMatchObject({
    ...{
      outcomes: "on",
      wakeUp: false,
      testCommands: ["just check", "./ci"],
      judge: { url: "http://127.0.0.1:1/v1", model: "m" },
    },
  });
  expect(readHarness(harnessEnv({ HOME: home, MEMPALACE_OUTCOMES: "off" })).outcomes).toBe("off");
  expect(readHarness(harnessEnv({ HOME: home }, "/another/palace"))).toMatchObject({ wakeUp: true, testCommands: [] });
  expect(readHarness({ MEMPALACE_TEST_COMMANDS: " just check ,, ./ci," }).testCommands).toEqual(["just check", "./ci"]);
});

test("a value of each kind is read back unchanged from its text form and from its environment variable", () => {
  const samples = [
    600,
    20,
    false,
    ["/a", "/b"],
    ["a", "b"],
    "http://h/",
    "tcp://h:1",
    "/f",
    "off",
    "light",
    "info",
    "x",
  ];
  for (const key of SETTING_KEYS) {
    const { kind }: Setting = SETTINGS[key];
    const values = [...samples, kind.example].map((sample) => parseValue(kind, sample, home));
    const fitting = values.filter((value) => value !== undefined);
    expect(fitting, key).not.toEqual([]);
    for (const value of fitting) {
      expect(parseValue(kind, asText(kind, value), home), key).toEqual(value);
      expect(parseValue(kind, asVariable(kind, value), home), key).toEqual(value);
      expect(readSetting({ [variableOf(key)]: asVariable(kind, value) }, key), key).toBeDefined();
    }
  }
});
