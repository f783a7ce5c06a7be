/**
 * Installs the package as users do: `npm pack`, then `npm i -g` of the tarball into a home of its own, with and without
 * install scripts. Only the registry can be reached; other downloads, which install scripts may ask for, are refused.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/main.ts";
import {
  cloneHead,
  networkMissing,
  type Newcomer,
  openNewcomer,
  readRegistry,
  type Variables,
} from "../helpers/fresh-clone.ts";
import { type InspectingProxy, startInspectingProxy } from "../helpers/inspecting-proxy.ts";

const missing = networkMissing();
if (missing !== undefined) console.warn(`packed install left out: ${missing}`);

/** Folders and files that the test may make; the user of this test has told npm to install into `.npm-global`. */
const PLACES = [".mempalace", ".local/state/palace", ".cache/palace", ".npm", ".npm-global", ".npmrc"];

const WAYS: readonly { how: string; args: string[]; env: Variables; runtime: "ok" | "warn" }[] = [
  { how: "without install scripts", args: ["--ignore-scripts"], env: {}, runtime: "ok" },
  { how: "with them, their download refused", args: [], env: {}, runtime: "warn" },
  { how: "with them, without that download", args: [], env: { ONNXRUNTIME_NODE_INSTALL: "skip" }, runtime: "ok" },
];

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
    // Packing builds into the clone, and other tests run the files that are built here.
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

  test("the example of docs/how-to/programs.md runs in an empty project that has the packed package", async () => {
    const { newcomer, proxy } = await open();
    await using _newcomer = newcomer;
    await using _proxy = proxy;
    const project = join(newcomer.home, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}\n");
    const page = readFileSync(join(ROOT, "docs/how-to/programs.md"), "utf8");
    const [, example = ""] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const [, printed = ""] = /^It prints `(.*)`$/m.exec(page) ?? [];
    expect(example).toContain('from "palace-devbox"');
    writeFileSync(join(project, "remember.mjs"), example);
    const way = { HTTPS_PROXY: newcomer.proxyUrl, NODE_EXTRA_CA_CERTS: proxy.caFile };
    const cache = { npm_config_cache: join(folder, "cache") };
    const install = ["npm", "install", "--prefix", project, "--ignore-scripts", tarball];
    const installed = await newcomer.run(install, { ...way, ...cache });
    expect(installed.code, installed.stderr).toBe(0);
    // The program downloads nothing while it runs.
    const ran = await newcomer.run(["node", join(project, "remember.mjs")], { MEMPALACE_OFFLINE: "1" });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: printed });
    const declared = readFileSync(join(project, "node_modules/palace-devbox/dist/bin/library.d.ts"), "utf8");
    expect(declared).toContain("export declare function connectClient");
    const palace = join(project, "node_modules/.bin/palace");
    expect((await newcomer.run([palace, "stop"])).code).toBe(0);
  });

  test.each(WAYS)("installs $how, works, and says which parts are missing", async ({ args, env, runtime }) => {
    const { newcomer, proxy } = await open();
    await using _newcomer = newcomer;
    await using _proxy = proxy;
    const command = (name: string): string => join(newcomer.home, ".npm-global/bin", name);
    const way = { HTTPS_PROXY: newcomer.proxyUrl, NODE_EXTRA_CA_CERTS: proxy.caFile };
    // The three installs share one npm cache.
    const cache = { npm_config_cache: join(folder, "cache") };
    const installed = await newcomer.run(["npm", "install", "--global", ...args, tarball], {
      ...way,
      ...cache,
      ...env,
    });
    expect(installed.code, installed.stderr).toBe(0);
    expect(proxy.connections.length).toBeGreaterThan(0);
    await proxy[Symbol.asyncDispose]();

    const up = await newcomer.run([command("palace"), "up"]);
    expect(up.code, up.stderr).toBe(0);
    expect(up.stdout).toMatch(/Next:\n.*palace status/);
    expect(up.stdout).toContain("every agent's MCP entry:");
    if (runtime === "warn") expect(up.stdout + up.stderr).toContain("ONNXRUNTIME_NODE_INSTALL=skip");
    const shim = await newcomer.shim([command("mempalace-mcp")]);
    const content = "the key to the shed";
    await shim.call("mempalace_add_drawer", { wing: "me", room: "notes", content });
    expect(JSON.stringify(await shim.call("mempalace_search", { query: content }))).toContain(content);
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

    const doctor = await newcomer.run([command("palace"), "doctor", "--json"]);
    expect(doctor.code, doctor.stdout).toBe(0);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; state: string }[] };
    expect(checks.find(({ name }) => name === "runtime")).toMatchObject({ state: runtime });
    expect((await newcomer.run([command("palace"), "stop"])).code).toBe(0);
    expect(newcomer.filesOfHome(...PLACES)).toEqual([]);
  });
});
