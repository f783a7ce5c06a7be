/** Installs the packed package into an empty home. Only the registry can be reached, so install scripts cannot download anything else. */
import { execFileSync } from "node:child_process";
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/main.ts";
import { SBOM_FILE } from "../../scripts/sbom.ts";
import { cloneHead, networkMissing, type Newcomer, openNewcomer, readRegistry } from "../helpers/fresh-clone.ts";
import { type InspectingProxy, startInspectingProxy } from "../helpers/inspecting-proxy.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";

const missing = networkMissing();
if (missing !== undefined) console.warn(`packed install left out: ${missing}`);

/** Folders and files that the test may make. */
const PLACES = [".mempalace", ".local/state/palace", ".cache/palace", ".npm", ".npm-global", ".npmrc"];

const INSTALLED_MAX_MB = 160;
const PACKED_MAX_MB = 8;

type Sbom = { components: { name: string }[] };
type Check = { name: string; state: string; detail: string; hint: string };
type Settings = {
  mcpServers: Record<string, { command: string; args: string[] }>;
  hooks: Record<string, { hooks: { command: string }[] }[]>;
};

describe.skipIf(missing)("the packed package", () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-packed-"));
  let tarball: string;
  let registry: URL;

  beforeAll(() => {
    registry = readRegistry();
    // Packs in a clone, because packing rebuilds dist/, which other tests run.
    const clone = join(folder, "clone");
    cloneHead(clone);
    symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
    execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: clone, stdio: "pipe" });
    tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const open = async (): Promise<{ newcomer: Newcomer; proxy: InspectingProxy }> => {
    const newcomer = await openNewcomer(dirname(process.execPath));
    writeFileSync(join(newcomer.home, ".npmrc"), `prefix=${join(newcomer.home, ".npm-global")}\n`);
    mkdirSync(join(newcomer.home, ".npm-global"));
    const proxy = await startInspectingProxy({
      folder: join(newcomer.folder, "proxy"),
      listen: { path: newcomer.proxySocket },
      allows: (host) => host === registry.hostname,
    });
    return { newcomer, proxy };
  };

  test("the bill of materials of the package names every package that the packed files contain", () => {
    const unpacked = join(folder, "unpacked");
    mkdirSync(unpacked);
    execFileSync("tar", ["-xzf", tarball, "-C", unpacked]);
    const files = globSync("**/*.{js,cjs}", { cwd: unpacked }).map((file) =>
      readFileSync(join(unpacked, file), "utf8"),
    );
    const contained = files.flatMap((text) => [...text.matchAll(/^\/\/ .*node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//gm)]);
    const names = new Set(contained.map(([, name]) => name));
    expect(names.size).toBeGreaterThan(5);
    const sbom = JSON.parse(readFileSync(join(unpacked, "package", SBOM_FILE), "utf8")) as Sbom;
    const listed = sbom.components.map(({ name }) => name);
    expect(listed).toContain("preact");
    expect([...names].filter((name) => !listed.includes(name ?? ""))).toEqual([]);
  });

  test("the example of docs/how-to/programs.md runs in an empty project with the packed package", async () => {
    const { newcomer, proxy } = await open();
    await using _newcomer = newcomer;
    await using _proxy = proxy;
    const project = join(newcomer.home, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}\n");
    const page = readFileSync(join(ROOT, "docs/how-to/programs.md"), "utf8");
    const [, example = ""] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const [, printed = ""] = / prints `(.+)`$/m.exec(page) ?? [];
    expect(example).toContain('from "palace-devbox"');
    expect(printed).not.toBe("");
    writeFileSync(join(project, "remember.mjs"), example);
    const way = { HTTPS_PROXY: newcomer.proxyUrl, NODE_EXTRA_CA_CERTS: proxy.caFile };
    const cache = { npm_config_cache: join(folder, "cache") };
    const install = ["npm", "install", "--prefix", project, "--ignore-scripts", tarball];
    const installed = await newcomer.run(install, { ...way, ...cache });
    expect(installed.code, installed.stderr).toBe(0);
    const ran = await newcomer.run(["node", join(project, "remember.mjs")], { MEMPALACE_OFFLINE: "1" });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: printed });
    const declared = readFileSync(join(project, "node_modules/palace-devbox/dist/bin/library.d.ts"), "utf8");
    expect(declared).toContain("export declare function connectClient");
    const palace = join(project, "node_modules/.bin/palace");
    expect((await newcomer.run([palace, "stop"])).code).toBe(0);
  });

  test("the package is small, fetches its model with one command and searches by words and meaning", async () => {
    expect(megabytes(tarball)).toBeLessThan(PACKED_MAX_MB);
    const { newcomer, proxy } = await open();
    await using _newcomer = newcomer;
    await using _proxy = proxy;
    const command = (name: string): string => join(newcomer.home, ".npm-global/bin", name);
    const way = { HTTPS_PROXY: newcomer.proxyUrl, NODE_EXTRA_CA_CERTS: proxy.caFile };
    const cache = { npm_config_cache: join(folder, "cache") };
    const installed = await newcomer.run(["npm", "install", "--global", tarball], { ...way, ...cache });
    expect(installed.code, installed.stderr).toBe(0);
    expect(proxy.connections.length).toBeGreaterThan(0);
    expect(megabytes(join(newcomer.home, ".npm-global"))).toBeLessThan(INSTALLED_MAX_MB);

    const up = await newcomer.run([command("palace"), "up"]);
    expect(up.code, up.stderr).toBe(0);
    expect(up.stdout).toMatch(/Next:\n.*palace status/);
    expect(up.stdout).toContain("every agent's MCP entry:");
    expect(up.stdout).toContain("Search finds memories by words and by meaning.");
    const shim = await newcomer.shim([command("mempalace-mcp")]);
    const content = "the key to the shed";
    await shim.call("mempalace_add_drawer", { wing: "me", room: "notes", content });
    const found = await shim.call("mempalace_search", { query: "where do we keep the extra key" });
    expect(JSON.stringify(found)).toContain(content);
    expect(found).not.toHaveProperty("vector_disabled");
    await shim.close();
    // An agent started from a desktop does not have npm's folders on its PATH.
    const elsewhere = { PATH: "/usr/bin:/bin" };
    expect((await newcomer.run([command("palace"), "install", "claude-code"])).code).toBe(0);
    const read = (name: string): Settings => JSON.parse(readFileSync(join(newcomer.home, name), "utf8")) as Settings;
    const server = read(".claude.json").mcpServers["mempalace"];
    const wired = await newcomer.shim([server?.command ?? "", ...(server?.args ?? [])], elsewhere);
    expect(JSON.stringify(await wired.call("mempalace_search", { query: content }))).toContain(content);
    await wired.close();
    const hook = read(".claude/settings.json").hooks["SessionStart"]?.[0]?.hooks[0]?.command ?? "";
    const event = JSON.stringify({ session_id: "s", hook_event_name: "SessionStart", source: "startup", cwd: "/" });
    const patient = hook.replace("hook claude-code", "hook claude-code --within 60000");
    const said = await newcomer.run(["sh", "-c", `echo '${event}' | ${patient}`], elsewhere);
    expect(said.stdout, said.stderr).toContain(content);
    expect((await newcomer.run([command("palace"), "install", "remove", "claude-code"])).code).toBe(0);

    const checkModel = async (): Promise<Check | undefined> => {
      const { stdout } = await newcomer.run([command("palace"), "doctor", "--json"]);
      return (JSON.parse(stdout) as { checks: Check[] }).checks.find(({ name }) => name === "model");
    };
    expect(await checkModel()).toMatchObject({ state: "ok", detail: expect.stringContaining("palace model get") });
    const model = writeTinyModel(join(newcomer.home, ".cache/palace/tiny"));
    expect((await newcomer.run([command("palace"), "config", "set", "model-dir", model])).code).toBe(0);
    expect((await newcomer.run([command("palace"), "restart"])).code).toBe(0);
    expect(await checkModel()).toMatchObject({ state: "warn", hint: "palace model get" });
    const fetched = await newcomer.run([command("palace"), "model", "get"], { ...way, ...cache });
    expect(fetched.code, fetched.stderr).toBe(0);
    expect(await checkModel()).toMatchObject({ state: "ok", detail: expect.stringContaining("by meaning (") });
    expect(
      readdirSync(join(newcomer.home, ".cache/palace/models")).filter((name) => name.startsWith(".draft")),
    ).toEqual([]);
    await proxy[Symbol.asyncDispose]();
    const again = await newcomer.run([command("palace"), "model", "get"]);
    expect(again.code, again.stderr).toBe(0);
    expect((await newcomer.run([command("palace"), "stop"])).code).toBe(0);
    expect(newcomer.filesOfHome(...PLACES)).toEqual([]);
  });
});

function megabytes(path: string): number {
  return Number(execFileSync("du", ["-sk", path], { encoding: "utf8" }).split("\t")[0]) / 1000;
}
