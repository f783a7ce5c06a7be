/**
 * Runs `scripts/up` in a fresh clone, as a newcomer does at work: the Node is too old, the home is empty, and the only way out is a proxy
 * that inspects TLS. Then the network is removed, and everything still works. The tests build on each other.
 */
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/main.ts";
import { networkMissing, type Newcomer, openNewcomer, readRegistry } from "../helpers/fresh-clone.ts";
import { type InspectingProxy, startInspectingProxy } from "../helpers/inspecting-proxy.ts";
import { readTyped, typePage, type Typed } from "../helpers/typed-page.ts";

const missing = networkMissing();
if (missing !== undefined) console.warn(`fresh clone left out: ${missing}`);

/** Commands of the README that the test skips, because its home has no sessions of opencode. */
const NEEDS_OPENCODE = ["palace mine sessions"];

/** Host that does not exist. The test only checks that the request for it reaches the proxy. */
const MODELS = "models.test";
/** Folders that may get files: those that README and docs/reference/files.md name, and npm's cache. */
const PLACES = [".mempalace", ".local/state/palace", ".cache/palace", ".npm"];

/** Files that the README's reader makes, and settings of the wired agents. */
const TYPED = [".cache/mempalace-docs", "project", "palace.tar", ".claude", ".claude.json", ".config/opencode", ".pi"];

describe.skipIf(missing)("a fresh clone with an old Node", () => {
  let newcomer: Newcomer;
  let proxy: InspectingProxy;
  let registry: URL;

  beforeAll(async () => {
    registry = readRegistry();
    newcomer = await openNewcomer();
    proxy = await startInspectingProxy({
      folder: join(newcomer.folder, "proxy"),
      listen: { path: newcomer.proxySocket },
      allows: (host) => [registry.hostname, MODELS].includes(host),
    });
  });
  afterAll(async () => {
    await newcomer?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
  });

  /** Runs `palace doctor`, which must report no failure, and returns its findings by name. */
  const doctor = async (): Promise<Record<string, { state: string; detail: string }>> => {
    const { code, stdout, stderr } = await newcomer.run(["./scripts/palace", "doctor", "--json"]);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string }[] };
    expect({ code, failed: checks.filter(({ state }) => state === "fail") }, stderr).toEqual({ code: 0, failed: [] });
    return Object.fromEntries(checks.map((check) => [check.name, check]));
  };

  /** Files and finds a text through a shim, started by the line that `up` prints as the agents' entry. */
  const remember = async (entry: string, content: string): Promise<void> => {
    const shim = await newcomer.shim(entry.split(" "));
    await shim.call("mempalace_add_drawer", { wing: "first", room: "days", content });
    const found = await shim.call("mempalace_search", { query: content, wing: "first" });
    expect(JSON.stringify(found["results"])).toContain(content);
    await shim.close();
  };

  const entryIn = (summary: string): string => /every agent's MCP entry:\s+(.+)/.exec(summary)?.[1] ?? "";

  test("the newcomer's Node is version 20, and without the proxy npm does not reach its registry", async () => {
    expect((await newcomer.run(["node", "--version"])).stdout).toMatch(/^v20\./);
    const { code } = await newcomer.run(["npm", "ping", "--fetch-retries=0"]);
    expect(code).not.toBe(0);
    expect(proxy.connections).toEqual([]);
  });

  test("scripts/up without a network names the cause and the next step", async () => {
    const { code, stdout, stderr } = await newcomer.run(["./scripts/up", "--native"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/error: npm could not fetch Node 24\nhint: npm does not reach its registry: .*HTTPS_PROXY/);
  });

  test("scripts/up names the setting for the proxy's certificates if it is missing", async () => {
    const { code, stderr } = await newcomer.run(["./scripts/up", "--native"], { HTTPS_PROXY: newcomer.proxyUrl });
    expect(code).toBe(1);
    expect(stderr).toMatch(/error: npm could not fetch Node 24\nhint: .* inspects TLS .*export NODE_EXTRA_CA_CERTS=/);
    writeFileSync(newcomer.machineSettings, "cafile=/etc/hostname\n");
    const again = await newcomer.run(["./scripts/up", "--native"], { HTTPS_PROXY: newcomer.proxyUrl });
    expect(again.stderr).toMatch(/hint: .* inspects TLS .*npm config set cafile /);
    expect(proxy.requests).toEqual([]);
    expect(newcomer.filesOfHome(".npm")).toEqual([]);
  });

  test("scripts/up installs Node, packages and the palace through the proxy of npm's machine-wide settings", async () => {
    writeFileSync(newcomer.machineSettings, `cafile=${proxy.caFile}\nhttps-proxy=${newcomer.proxyUrl}\n`);
    const { code, stdout, stderr } = await newcomer.run(["./scripts/up", "--native"]);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(
      /^The palace is up on this machine\.\nOne memory was written through one shim.*\nSearch finds memories by words/,
    );
    for (const next of ["palace status", "palace mine docs DIR", "palace search WORDS", "palace stop"])
      expect(stdout).toContain(`./scripts/${next}`);
    expect(entryIn(stdout)).toBe(`${newcomer.clone}/scripts/palace shim`);
    // The build's files get the time at which the build began, so a source that is edited during the build is newer.
    const dateOf = (file: string): number => statSync(join(newcomer.clone, "dist/bin", file)).mtimeMs;
    expect(dateOf(".")).toBeLessThan(dateOf("roampal.js"));
    // Every package came through the proxy: npm's cache was empty, and there is no other way.
    const locked = JSON.parse(readFileSync(join(newcomer.clone, "package-lock.json"), "utf8")) as { packages: object };
    const tarballs = new Set(proxy.requests.filter((line) => line.includes(".tgz")));
    expect(tarballs.size).toBeGreaterThan(Object.keys(locked.packages).length / 2);
    expect(new Set(proxy.connections)).toEqual(new Set([`${registry.hostname}:${registry.port || 443}`]));
    await remember(entryIn(stdout), "the proxy let us in");
    expect((await doctor())["runtime"]).toMatchObject({ state: "ok" });
    expect(newcomer.filesOfHome(...PLACES)).toEqual([]);
  });

  /** Types commands and expects exit code 0 and the output that the page shows. */
  const typeAll = async (typed: readonly Typed[]): Promise<void> => {
    const alias: Typed = { command: `alias palace="$PWD/scripts/palace"`, shown: undefined };
    for (const { command, code, screen, shown } of await typePage([alias, ...typed], newcomer)) {
      expect({ command, code }, screen).toEqual({ command, code: 0 });
      if (shown !== undefined) expect(`${screen}\n`, command).toMatch(shown);
    }
  };
  const page = (path: string): string => readFileSync(join(ROOT, path), "utf8");

  test("the tutorial's commands print the output that the page shows", async () => {
    const typed = readTyped(page("docs/tutorial.md"), { to: "The devbox" });
    expect(typed.length).toBeGreaterThan(10);
    await typeAll(typed);
  });

  test("every command in the README for this machine works", async () => {
    // The tutorial's commands made a backup with this name, and the README's commands make it again.
    rmSync(join(newcomer.home, "palace.tar"));
    for (const folder of ["project", ".claude", ".config/opencode", ".pi/agent"])
      mkdirSync(join(newcomer.home, folder), { recursive: true });
    writeFileSync(join(newcomer.home, "project/notes.md"), "# Boats\n\nThe red boat is moored at pier nine.\n");
    const typed = readTyped(page("README.md"), { to: "The devbox" }).filter(
      ({ command }) => !NEEDS_OPENCODE.includes(command),
    );
    expect(typed.length).toBeGreaterThan(12);
    await typeAll(typed);
    expect(newcomer.filesOfHome(...PLACES, ...TYPED)).toEqual([]);
  });

  test("the broker downloads its model through the proxy", async () => {
    const environment = {
      HTTPS_PROXY: newcomer.proxyUrl,
      NODE_EXTRA_CA_CERTS: proxy.caFile,
      MEMPALACE_MODEL_URL: `https://${MODELS}`,
    };
    const { code, stderr } = await newcomer.run(["./scripts/palace", "restart"], environment);
    expect(code, stderr).toBe(0);
    await expect.poll(() => proxy.requests, { timeout: 120_000 }).toContain(`GET ${MODELS}/config.json`);
  });

  test("build, broker, writes and search work without a network", async () => {
    await proxy[Symbol.asyncDispose]();
    const stopped = await newcomer.run(["./scripts/palace", "stop"]);
    expect(stopped.code, stopped.stderr).toBe(0);
    // A changed source makes `up` build again and stop the earlier build's broker.
    utimesSync(join(newcomer.clone, "src/bin/palace.ts"), new Date(), new Date());
    const { code, stdout, stderr } = await newcomer.run(["script", "-qec", "./scripts/up --native", "/dev/null"]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("building ...");
    expect(stdout).not.toMatch(/stays off|\{"|No broker was running/);
    await remember(entryIn(stdout), "alone on an island");
    await doctor();
    const found = await newcomer.run(["./scripts/palace", "search", "the proxy let us in", "--json"]);
    expect(found.stdout).toContain("the proxy let us in");
    expect(newcomer.filesOfHome(...PLACES, ...TYPED)).toEqual([]);
  });
});
