/** Tests installs with several versions of Node and with several settings folders (profiles). */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { agentPlaces, sessionPlaces } from "../../../../src/config/agents.ts";
import { readHarness } from "../../../../src/config/harness.ts";
import { AGENTS } from "../../../../src/agents/install/agent-files.ts";
import { install, type Parts, uninstall, wiringOf } from "../../../../src/agents/install/install.ts";
import { launchOf } from "../../../../src/agents/install/launch.ts";
import { partsIn } from "./parts.ts";

let home = "";
let parts: Parts;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-profiles-"));
  parts = partsIn(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(name: string, content: string): void {
  mkdirSync(dirname(join(home, name)), { recursive: true });
  writeFileSync(join(home, name), content);
}

const read = (name: string): string => readFileSync(join(home, name), "utf8");
const names = (): string[] =>
  readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("state"))
    .sort();
const texts = (): string[] => names().map((name) => (name.endsWith(".json") ? `${name} ${read(name)}` : name));

test("an entry has the full paths of Node and of our file, and counts as drifted when a path changes", () => {
  const root = join(home, "lib/palace-devbox");
  put("nvm/v24/bin/node", "");
  put("brew/Cellar/node/bin/node", "");
  mkdirSync(join(home, "brew/bin"));
  symlinkSync("../Cellar/node/bin/node", join(home, "brew/bin/node"));
  const folders = [join(home, "nowhere"), join(home, "brew/bin")];
  const launch = (node: string): Parts["launch"] => launchOf({ root, node: join(home, node), folders, palace: [] });
  const shim = join(root, "dist/bin/mp-shim.cjs");
  const palace = join(root, "dist/bin/palace.js");
  expect(launch("brew/Cellar/node/bin/node")).toEqual({
    shim: [join(home, "brew/bin/node"), shim],
    hook: `${join(home, "brew/bin/node")} ${palace} hook claude-code || :`,
    extension: [join(home, "brew/bin/node"), palace, "hook"],
  });
  const old = { ...parts, launch: launch("nvm/v24/bin/node") };
  expect(old.launch.shim).toEqual([join(home, "nvm/v24/bin/node"), shim]);
  const now = { ...parts, launch: launch("brew/Cellar/node/bin/node") };
  for (const agent of AGENTS) {
    install(agent, old, false);
    expect([wiringOf(agent, old), wiringOf(agent, now)], agent).toEqual(["wired", "drifted"]);
    // The wiring also counts as drifted if our record is deleted.
    rmSync(join(home, "state"), { recursive: true });
    expect(wiringOf(agent, now), agent).toBe("drifted");
    install(agent, now, false);
    expect(
      read(agent === "claude-code" ? ".claude.json" : `${agent}/${agent === "pi" ? "mcp" : agent}.json`),
    ).not.toContain("nvm");
  }
  expect(read(".claude/settings.json").match(/palace\.js hook/g)).toHaveLength(5);
});

test("uninstall from one profile names and keeps the other profiles, and uninstall from the last removes our files", () => {
  put("package/pi/palace.js", "export default 1;\n");
  put("package/skills/recall/SKILL.md", "---\nname: recall\n---\n");
  put(".claude.json", '{"a":1}');
  put("work/settings.json", '{"model":"x"}');
  const work = { claudeDir: join(home, "work"), claudeFile: join(home, "work/.claude.json"), piDir: join(home, "pi2") };
  const there = { ...parts, places: { ...parts.places, ...work } };
  const before = names();
  for (const agent of ["claude-code", "pi"] as const) {
    install(agent, parts, false);
    const wired = texts();
    install(agent, there, false);
    expect([wiringOf(agent, parts), wiringOf(agent, there)], agent).toEqual(["wired", "wired"]);
    const folder = agent === "pi" ? parts.places.piDir : parts.places.claudeDir;
    expect(uninstall(agent, there, true).elsewhere).toEqual([folder]);
    expect(uninstall(agent, there, false).elsewhere).toEqual([folder]);
    expect(texts()).toEqual(wired);
    expect([wiringOf(agent, parts), wiringOf(agent, there)], agent).toEqual(["wired", "not wired"]);
    expect(uninstall(agent, parts, false).elsewhere).toEqual([]);
    expect(names()).toEqual(before);
  }
  expect([read(".claude.json"), read("work/settings.json")]).toEqual(['{"a":1}', '{"model":"x"}']);
  expect(readdirSync(join(home, "state/install/originals"))).toEqual([]);
});

test("a tilde at the start of PI_CODING_AGENT_DIR means the home folder, as in pi", () => {
  for (const [value, folder] of [
    ["~/work", "/h/work"],
    ["~", "/h"],
    ["/x/~/y", "/x/~/y"],
    [undefined, "/h/.pi/agent"],
  ] as const) {
    const env = { HOME: "/h", PI_CODING_AGENT_DIR: value };
    expect([agentPlaces(env).piDir, readHarness(env).piDir, sessionPlaces(env).piDir]).toEqual([
      folder,
      folder,
      `${folder}/sessions`,
    ]);
  }
});
