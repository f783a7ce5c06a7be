/** Tests doctor's checks of volumes, builds, clocks and tokens, on folders made for the test. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkBuild, checkTokens } from "../../../../src/cli/doctor/broker.ts";
import { checkClock, checkVolumes, SKEW_MAX_MS } from "../../../../src/cli/doctor/machine.ts";
import { addToken } from "../../../../src/broker/door/tokens.ts";
import { type Config, loadConfig } from "../../../../src/config/config.ts";
import { isInContainer } from "../../../../src/base/container.ts";
import { VERSION } from "../../../../src/base/version.ts";
import type { Health } from "../../../../src/protocol/spec.ts";

const DAY_MS = 86_400_000;
let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "palace-doctor-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const config = (more: Record<string, string> = {}): Config => loadConfig({ HOME: home, PATH: home, ...more });
const health = (more: Partial<Health> = {}): Health =>
  ({ version: VERSION, startedAtMs: Date.now(), nowMs: Date.now(), ...more }) as Health;

test.skipIf(!isInContainer())("in a container doctor warns of folders that are not on a volume", () => {
  const volume = { type: "ext4", point: home };
  expect(checkVolumes(config(), () => volume)).toMatchObject([{ state: "ok" }]);
  const layer = checkVolumes(config(), (path) =>
    path.endsWith(".mempalace") ? { type: "overlay", point: "/" } : volume,
  );
  expect(layer).toMatchObject([{ state: "warn", detail: expect.stringContaining(`${home}/.mempalace, own layer`) }]);
  expect(layer[0]?.detail).not.toContain("spooled writes");
  expect(layer[0]?.hint).toContain(`target=${home}/.mempalace`);
  const memory = checkVolumes(config(), (path) =>
    path.includes(".local") ? { type: "tmpfs", point: "/run" } : volume,
  );
  expect(memory).toMatchObject([{ state: "warn", detail: expect.stringContaining("palace, memory") }]);
  // The memory of a broker on another machine is not in this container.
  const bound = checkVolumes(config({ MEMPALACE_BROKER: "http://far.test:1" }), () => ({
    type: "overlay",
    point: "/",
  }));
  expect(bound[0]?.detail).not.toContain("the palace (");
});

test("doctor asks for a restart after a build or an install that is newer than the broker", () => {
  const before = health({ startedAtMs: Date.now() - DAY_MS });
  writeFileSync(join(home, "package.json"), "{}");
  expect(checkBuild(config(), health({ startedAtMs: Date.now() + 1 }), home)).toMatchObject({ state: "ok" });
  expect(checkBuild(config(), before, home)).toMatchObject({ state: "warn", hint: "palace restart" });
  for (const folder of ["scripts", "src", "dist/bin"]) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, "scripts/palace"), "");
  expect(checkBuild(config(), before, home)).toMatchObject({ state: "warn", hint: "palace restart" });
  const later = new Date(Date.now() + DAY_MS);
  writeFileSync(join(home, "src/a.ts"), "");
  utimesSync(join(home, "src/a.ts"), later, later);
  expect(checkBuild(config(), before, home)).toMatchObject({
    state: "ok",
    detail: expect.stringContaining("./scripts/up"),
  });
  const far = config({ MEMPALACE_BROKER: "http://far.test:1" });
  expect(checkBuild(far, health({ version: "0.0.1" }))).toMatchObject({
    state: "warn",
    detail: expect.stringContaining("0.0.1 there"),
  });
});

test("doctor warns of a broker's clock that differs by more than a minute", () => {
  const [fromMs, toMs] = [1_000_000_000_000, 1_000_000_030_000];
  const state = (nowMs: number | undefined): string => checkClock(config(), health({ nowMs }), { fromMs, toMs }).state;
  expect([fromMs, toMs, fromMs - SKEW_MAX_MS, toMs + SKEW_MAX_MS, undefined].map(state)).toEqual(Array(5).fill("ok"));
  expect([fromMs - SKEW_MAX_MS - 1, toMs + SKEW_MAX_MS + 1].map(state)).toEqual(["warn", "warn"]);
});

test("doctor warns of files with a date in the future", () => {
  const { paths } = config();
  const now = Date.now();
  mkdirSync(paths.home, { recursive: true });
  writeFileSync(paths.ledgerFile, "");
  const look = (): unknown => checkClock(config(), health({ nowMs: now }), { fromMs: now, toMs: now });
  utimesSync(paths.ledgerFile, new Date(now), new Date(now + SKEW_MAX_MS / 2));
  expect(look()).toMatchObject({ state: "ok" });
  utimesSync(paths.ledgerFile, new Date(now), new Date(now + DAY_MS));
  expect(look()).toMatchObject({ state: "warn", detail: expect.stringContaining("ahead of this clock") });
});

test("doctor names tokens that have expired or expire within a week", () => {
  const { paths } = config();
  const now = Date.now();
  expect(checkTokens(config())).toEqual([]);
  addToken(paths.tokensFile, { name: "lasting", role: "agent" });
  addToken(paths.tokensFile, { name: "later", role: "agent", expiresAtMs: now + 30 * DAY_MS });
  expect(checkTokens(config(), now)).toMatchObject([{ state: "ok" }]);
  addToken(paths.tokensFile, { name: "soon", role: "agent", expiresAtMs: now + 3 * DAY_MS });
  addToken(paths.tokensFile, { name: "gone", role: "agent", expiresAtMs: now - DAY_MS });
  const [check] = checkTokens(config(), now);
  expect(check).toMatchObject({ state: "warn", hint: expect.stringContaining("palace bridge token add soon") });
  expect(check?.detail).toMatch(/^soon expires on \S+, gone has expired on \S+$/);
  expect(checkTokens(config({ MEMPALACE_BROKER: "http://far.test:1" }))).toEqual([]);
  writeFileSync(paths.tokensFile, "no tokens");
  expect(checkTokens(config())).toMatchObject([
    { state: "warn", detail: expect.stringContaining("no client can connect") },
  ]);
});
