/** Tests with settings that cannot be written or read: files made by Nix or home-manager, and pipes in place of files. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readUpstreamFile } from "../../../../src/config/mempalace-config.ts";
import { AGENTS, configFile } from "../../../../src/agents/install/agent-files.ts";
import { install, type Parts, uninstall, wiringOf } from "../../../../src/agents/install/install.ts";
import { rivalsOf } from "../../../../src/agents/install/rivals/rivals.ts";
import { partsIn } from "./parts.ts";

const SETTINGS = '{\n  "model": "x"\n}\n';
let home = "";
let parts: Parts;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-read-only-"));
  parts = partsIn(home);
  for (const folder of [".claude", "opencode", "pi", "work"]) mkdirSync(join(home, folder));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Makes the file as home-manager does: a link to a link to a read-only file in a read-only folder. */
function generate(content: string): void {
  const store = mkdtempSync(join(home, "store-"));
  writeFileSync(join(store, "settings.json"), content, { mode: 0o444 });
  const generation = join(home, "generation.json");
  rmSync(generation, { force: true });
  symlinkSync(join(store, "settings.json"), generation);
  chmodSync(store, 0o555);
}

test("a dry run prints the lines for a generated file, and install accepts a generated file that has these lines", () => {
  generate(SETTINGS);
  symlinkSync("../generation.json", join(home, ".claude/settings.json"));
  for (const attempt of [1, 2]) {
    expect(() => install("claude-code", parts, false), String(attempt)).toThrow(
      expect.objectContaining({ code: "STORE_READ_ONLY", hint: "palace install claude-code --dry-run" }),
    );
    expect(wiringOf("claude-code", parts)).toBe("read-only");
  }
  const { changes, blocked } = install("claude-code", parts, true);
  expect(blocked?.code).toBe("STORE_READ_ONLY");
  const wanted = changes.find(({ path }) => path.endsWith("settings.json"))?.next?.toString() ?? "";
  expect(wanted).toContain("palace hook claude-code");
  expect(readFileSync(join(home, ".claude/settings.json"), "utf8")).toBe(SETTINGS);
  // Simulates that home-manager wrote a file with our lines in another format. The file counts as drifted until install has accepted it.
  generate(JSON.stringify(JSON.parse(wanted)));
  expect(wiringOf("claude-code", parts)).toBe("drifted");
  install("claude-code", parts, false);
  expect(wiringOf("claude-code", parts)).toBe("wired");
  expect(() => uninstall("claude-code", parts, false)).toThrow(
    expect.objectContaining({ hint: "palace install remove claude-code --dry-run" }),
  );
  expect(uninstall("claude-code", parts, true).blocked?.code).toBe("STORE_READ_ONLY");
});

test("the hint for a read-only file says how to make the file writable", () => {
  writeFileSync(join(home, ".claude/settings.json"), SETTINGS, { mode: 0o444 });
  const hint = `chmod u+w ${join(home, ".claude/settings.json")}`;
  expect(() => install("claude-code", parts, false)).toThrow(expect.objectContaining({ hint }));
});

test("install and uninstall refuse a pipe in place of a settings file, and the search for competing entries ignores such a pipe", () => {
  for (const agent of AGENTS) {
    const file = configFile(agent, parts.places);
    execFileSync("mkfifo", [file]);
    for (const work of [install, uninstall])
      expect(() => work(agent, parts, false), agent).toThrow(
        expect.objectContaining({ code: "CONFIG_BAD_VALUE", message: expect.stringContaining(`${file} is a pipe`) }),
      );
  }
  execFileSync("mkfifo", [join(home, "work/.mcp.json"), join(home, "config.json")]);
  for (const agent of AGENTS) expect(rivalsOf(agent, parts, join(home, "work"))).toEqual([]);
  expect(readUpstreamFile(home).fault).toContain("is a pipe");
});
