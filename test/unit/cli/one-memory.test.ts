/** Tests which memory this machine's agents use after `up` has started a stack in Docker. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSettings, writeSettings } from "../../../src/wire/bridge/settings.ts";
import { dockerOptions, joinStack } from "../../../src/cli/docker/one-memory.ts";
import { type Config, loadConfig } from "../../../src/config/config.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "palace-join-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Returns a configuration without `docker` on PATH, so that setting up a bridge would fail. */
const config = (more: Record<string, string> = {}): Config => loadConfig({ HOME: home, PATH: home, ...more });

test.each([
  ["a ledger", ({ paths }: Config) => paths.ledgerFile],
  ["a MemPalace palace that no broker has adopted", ({ paths }: Config) => join(paths.palaceDir, "chroma.sqlite3")],
])("with %s the agents here keep their own memory, and the hint says how to join the stack", async (_what, fileOf) => {
  const file = fileOf(config());
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  const joined = await joinStack(config(), "box-broker-1", {});
  expect(joined).toMatchObject({
    state: "apart",
    hint: expect.stringContaining("palace bridge setup docker:box-broker-1"),
  });
  expect(readSettings(config().paths)).toBeUndefined();
  expect(joined).toHaveProperty("hint", expect.stringMatching(`palace import ${dirname(file)}$`));
});

test("up keeps a configured broker and a bridge to another machine", async () => {
  const named = await joinStack(config({ MEMPALACE_BROKER: "http://far.test:7780" }), "box-broker-1", {});
  expect(named).toMatchObject({ state: "apart", why: expect.stringContaining("http://far.test:7780") });
  const far = { schema: 1, target: "you@far.test", host: "far.test", port: 22, user: "you", hostKey: "", kind: "gate" };
  writeSettings(config().paths, far as never);
  expect(await joinStack(config(), "box-broker-1", {})).toMatchObject({
    state: "apart",
    why: expect.stringContaining("you@far.test"),
  });
  expect(readSettings(config().paths)).toEqual(far);
});

test("this machine shares the stack's memory if its bridge leads into the stack's own container", async () => {
  const settings = { schema: 1, target: "docker:box-broker-1", host: "box-broker-1", port: 0, user: "", hostKey: "" };
  writeSettings(config().paths, { ...settings, kind: "docker" } as never);
  expect(await joinStack(config(), "box-broker-1", {})).toEqual({ state: "joined" });
  expect(await joinStack(config(), "other-broker-1", {})).toMatchObject({ state: "apart" });
});

test("docker gets DOCKER_HOST as an option, and DOCKER_HOST wins over DOCKER_CONTEXT", () => {
  expect(dockerOptions({ DOCKER_HOST: "unix:///run/it.sock", DOCKER_CONTEXT: "other" })).toEqual([
    "--host",
    "unix:///run/it.sock",
  ]);
});
