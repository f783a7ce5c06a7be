/** Tests of wiring agents on real files: foreign entries stay, ours are added and removed, and a failure changes no file. */
import {
  chmodSync,
  existsSync,
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
import { parse } from "jsonc-parser";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findAgent } from "../../../../src/agents/install/detect.ts";
import { install, type Parts, uninstall, wiringOf } from "../../../../src/agents/install/install.ts";
import { InstallState } from "../../../../src/agents/install/record.ts";
import { partsIn } from "./parts.ts";

let home = "";
let parts: Parts;
/** First line of a copied extension. It has the command that starts palace-devbox. */
const LAUNCH = 'const PALACE_LAUNCH = {"hook":["palace","hook"],"shim":["mempalace-mcp"]};\n';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-wire-"));
  parts = partsIn(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(name: string, content: string): string {
  mkdirSync(dirname(join(home, name)), { recursive: true });
  writeFileSync(join(home, name), content);
  return join(home, name);
}

const read = (name: string): string => readFileSync(join(home, name), "utf8");
const json = (name: string): Record<string, unknown> => JSON.parse(read(name)) as Record<string, unknown>;
const names = (): string[] =>
  readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("state"))
    .sort();

function ship(): void {
  put("package/opencode/palace.js", "export const Palace = 1;\n");
  put("package/pi/palace.js", "export default 1;\n");
  put("package/skills/recall/SKILL.md", "---\nname: recall\n---\n");
}

test("install adds our hooks to a list and keeps the user's hooks in that list", () => {
  const theirs = { matcher: "Bash", hooks: [{ type: "command", command: "./guard.sh" }] };
  put(".claude/settings.json", JSON.stringify({ hooks: { Stop: [theirs], Notification: [theirs] } }, null, 2));
  install("claude-code", parts, false);
  const ours = { hooks: [{ type: "command", command: "palace hook claude-code", timeout: 10 }] };
  expect(json(".claude/settings.json")).toEqual({
    hooks: {
      ...{ Stop: [theirs, ours], Notification: [theirs], SessionStart: [ours] },
      ...{ UserPromptSubmit: [ours], PreCompact: [ours], SessionEnd: [ours] },
    },
    permissions: { allow: ["mcp__mempalace"] },
  });
});

test("uninstall removes only our hook from a group to which the user moved the hook", () => {
  install("claude-code", parts, false);
  const ours = { type: "command", command: "/old/scripts/palace hook claude-code", timeout: 99 };
  const theirs = { type: "command", command: "./say.sh" };
  put(".claude/settings.json", JSON.stringify({ hooks: { Stop: [{ hooks: [theirs, ours] }] } }, null, 2));
  expect(wiringOf("claude-code", parts)).toBe("drifted");
  uninstall("claude-code", parts, false);
  expect(json(".claude/settings.json")).toEqual({ hooks: { Stop: [{ hooks: [theirs] }] } });
});

test.each([
  [
    '{\n  "permissions": {\n    "allow": [\n      "Bash(ls:*)" // mine\n    ],\n    "deny": []\n  }\n}\n',
    ["Bash(ls:*)", "mcp__mempalace"],
  ],
  ['{ "permissions": { "defaultMode": "plan" } }', ["mcp__mempalace"]],
  ['{ "permissions": { "allow": [] } }', ["mcp__mempalace"]],
  ['{ "permissions": { "allow": ["mcp__mempalace"] } }', ["mcp__mempalace"]],
  ['{ "permissions": { "allow": ["mcp__mempalace__*", "Read"] } }', ["mcp__mempalace__*", "Read"]],
  ['{ "permissions": { "ask": ["mcp__mempalace"] } }', undefined],
  ['{ "permissions": { "deny": ["mcp__mempalace__*"] } }', undefined],
])("if no rule in %s names our server, install allows it, and uninstall restores the settings", (before, allow) => {
  for (const hasChanged of [false, true]) {
    put(".claude/settings.json", before);
    install("claude-code", parts, false);
    const { permissions } = parse(read(".claude/settings.json")) as { permissions: { allow?: string[] } };
    expect(permissions.allow).toEqual(allow);
    expect(wiringOf("claude-code", parts)).toBe("wired");
    // The file changed after the install, so uninstall removes our parts and does not restore the original.
    if (hasChanged) put(".claude/settings.json", `${read(".claude/settings.json")}\n`);
    uninstall("claude-code", parts, false);
    expect(read(".claude/settings.json").trimEnd()).toBe(before.trimEnd());
  }
});

test("uninstall keeps a user's rule that is identical to our rule", () => {
  const rule = '{ "permissions": { "allow": ["mcp__mempalace"] } }';
  put(".claude/settings.json", rule);
  install("claude-code", parts, false);
  // Makes the record like a record of older versions, which did not name the rule.
  const record = json("state/install/claude-code.json") as { files: { want?: { allow?: unknown }; kept: unknown[] }[] };
  for (const file of record.files) {
    delete file.want?.allow;
    file.kept = [];
  }
  put("state/install/claude-code.json", JSON.stringify(record));
  put(".claude/settings.json", `${read(".claude/settings.json")}\n`);
  install("claude-code", parts, false);
  uninstall("claude-code", parts, false);
  expect(read(".claude/settings.json").trimEnd()).toBe(rule);
});

test("without install's record and without our hooks in the file, uninstall keeps a rule identical to our rule", () => {
  const rule = '{ "permissions": { "allow": ["mcp__mempalace"] } }';
  put(".claude/settings.json", rule);
  uninstall("claude-code", parts, false);
  expect(read(".claude/settings.json")).toBe(rule);
});

test("install corrects an old command in our entry and keeps the user's additions", () => {
  const entry = { type: "stdio", command: "/gone/scripts/palace", args: ["shim"], env: { MEMPALACE_AGENT_NAME: "c" } };
  put(".claude.json", JSON.stringify({ mcpServers: { mempalace: entry } }));
  expect(wiringOf("claude-code", parts)).toBe("drifted");
  install("claude-code", parts, false);
  expect(json(".claude.json")).toEqual({
    mcpServers: {
      mempalace: { ...entry, command: "mempalace-mcp", args: [], alwaysLoad: true },
    },
  });
});

test("uninstall restores a user's server with our name in a file that the user has changed", () => {
  const python = '{ "command": "python", "args": ["-m", "mempalace.mcp_server"] }';
  put("pi/mcp.json", `{ "mcpServers": {\n  "mempalace": ${python}\n} }\n`);
  install("pi", parts, false);
  expect(json("pi/mcp.json")).toMatchObject({ mcpServers: { mempalace: { command: "mempalace-mcp", args: [] } } });
  put("pi/mcp.json", read("pi/mcp.json").replace('{ "mcpServers"', '{ "new": 1, "mcpServers"'));
  uninstall("pi", parts, false);
  expect(read("pi/mcp.json")).toBe(`{ "new": 1, "mcpServers": {\n  "mempalace": ${python}\n} }\n`);
});

test("uninstall removes only our entries from a file and keeps the user's additions", () => {
  put(".claude.json", '{\n  // mine\n  "a": 1\n}\n');
  install("claude-code", parts, false);
  put(".claude.json", read(".claude.json").replace('"a": 1', '"a": 1, /* new */ "b": 2'));
  put(".claude/settings.json", read(".claude/settings.json").replace("{", '{\n  "model": "x",'));
  uninstall("claude-code", parts, false);
  expect(read(".claude.json")).toBe('{\n  // mine\n  "a": 1, /* new */ "b": 2\n}\n');
  expect(read(".claude/settings.json")).toBe('{\n  "model": "x"\n}\n');
});

test("without install's record, uninstall recognises our entries by their command", () => {
  install("claude-code", parts, false);
  rmSync(join(home, "state"), { recursive: true });
  uninstall("claude-code", parts, false);
  expect([read(".claude.json"), read(".claude/settings.json")].map((text) => text.replaceAll(/\s/g, ""))).toEqual([
    "{}",
    "{}",
  ]);
});

test("a mistake in a settings file causes an error that names the line, and install changes no file", () => {
  for (const [content, where] of [
    ['{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"],
    ["[1]", "line 1, column 1"],
    ['{"hooks": {\n"Stop": {}}}', "line 2, column 9"],
    ['{\n"a": "\u0001"', "line 2"],
    [Buffer.from([0x7b, 0x0a, 0x22, 0x61, 0xff, 0x22]), "line 2, column 3"],
    ["[".repeat(200_000), "line 1"],
  ] as const) {
    mkdirSync(join(home, ".claude"), { recursive: true });
    writeFileSync(join(home, ".claude/settings.json"), content);
    const before = names();
    expect(() => install("claude-code", parts, false)).toThrow(where);
    expect(() => install("claude-code", parts, false)).toThrow(
      expect.objectContaining({ code: "CONFIG_BAD_VALUE", message: expect.stringContaining("settings.json") }),
    );
    expect(names()).toEqual(before);
    expect(existsSync(join(home, ".claude.json"))).toBe(false);
  }
});

test("install finds an unwritable file before it writes other files", () => {
  const file = put(".claude/settings.json", "{}");
  chmodSync(file, 0o444);
  const before = names();
  expect(() => install("claude-code", parts, false)).toThrow(expect.objectContaining({ code: "STORE_READ_ONLY" }));
  expect(names()).toEqual(before);
});

test("if a write fails, install restores the agent's other files", () => {
  put(".claude.json", "{}\n");
  // A folder takes the name of the second file's temporary file, so writing that file fails.
  put(".claude/settings.json", "{}\n");
  mkdirSync(join(home, `.claude/settings.json.${process.pid}.tmp`));
  expect(() => install("claude-code", parts, false)).toThrow(expect.objectContaining({ code: "STORE_READ_ONLY" }));
  expect([read(".claude.json"), read(".claude/settings.json")]).toEqual(["{}\n", "{}\n"]);
  expect(wiringOf("claude-code", parts)).toBe("not wired");
});

test("install keeps a symbolic link and creates a missing target", () => {
  put("dotfiles/claude.json", "{}");
  symlinkSync("dotfiles/claude.json", join(home, ".claude.json"));
  mkdirSync(join(home, "pi"));
  symlinkSync("../dotfiles/pi.json", join(home, "pi/mcp.json"));
  install("claude-code", parts, false);
  install("pi", parts, false);
  expect(json("dotfiles/claude.json")).toHaveProperty("mcpServers.mempalace");
  expect(json("dotfiles/pi.json")).toHaveProperty("mcpServers.mempalace");
  uninstall("claude-code", parts, false);
  uninstall("pi", parts, false);
  expect(read("dotfiles/claude.json")).toBe("{}");
  expect(existsSync(join(home, "dotfiles/pi.json"))).toBe(false);
});

test("install backs up a file once, and uninstall restores the file and deletes the backup", () => {
  const backups = (): string[] => names().filter((name) => name.endsWith(".palace-backup"));
  put(".claude.json", '{"a":1}');
  install("claude-code", parts, false);
  expect(backups().map(read)).toEqual(['{"a":1}']);
  install("claude-code", parts, false);
  expect(backups()).toHaveLength(1);
  uninstall("claude-code", parts, false);
  expect(backups()).toEqual([]);
  expect(read(".claude.json")).toBe('{"a":1}');
});

test("install copies and updates the shipped files, and uninstall removes them and their folders", () => {
  ship();
  const before = names();
  for (const agent of ["opencode", "pi", "claude-code"] as const) install(agent, parts, false);
  const seeds = ["opencode/node_modules", "opencode/package-lock.json", "opencode/package.json"];
  for (const name of [
    ...["opencode/plugins/palace.js", "pi/extensions/palace.js", "pi/skills/recall/SKILL.md"],
    ...["opencode/skills/recall/SKILL.md", ".claude/skills/recall/SKILL.md", ...seeds],
  ])
    expect(existsSync(join(home, name)), name).toBe(true);
  put("package/pi/palace.js", "export default 2;\n");
  expect(wiringOf("pi", parts)).toBe("drifted");
  install("pi", parts, false);
  expect(read("pi/extensions/palace.js")).toBe(`${LAUNCH}export default 2;\n`);
  for (const agent of ["opencode", "pi", "claude-code"] as const) uninstall(agent, parts, false);
  expect(names()).toEqual(names().filter((name) => before.includes(name) || name === "package/pi/palace.js"));
});

test("install and uninstall keep a package.json that the user or opencode wrote", () => {
  ship();
  put("opencode/package.json", '{"dependencies":{"mine":"1"}}');
  install("opencode", parts, false);
  expect(names()).not.toContain("opencode/node_modules");
  rmSync(join(home, "opencode/package.json"));
  install("opencode", parts, false);
  expect(names()).toContain("opencode/node_modules");
  put("opencode/package.json", '{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}');
  expect(wiringOf("opencode", parts)).toBe("wired");
  uninstall("opencode", parts, false);
  expect(read("opencode/package.json")).toContain("1.18.33");
});

test("install saves a user's file that has the name of our file, and uninstall restores the user's file", () => {
  ship();
  put("pi/extensions/palace.js", "mine\n");
  install("pi", parts, false);
  expect(read("pi/extensions/palace.js")).toBe(`${LAUNCH}export default 1;\n`);
  uninstall("pi", parts, false);
  expect(read("pi/extensions/palace.js")).toBe("mine\n");
});

test("install uses an existing opencode.jsonc instead of opencode.json", () => {
  put("opencode/opencode.jsonc", "{\n  // here\n}\n");
  install("opencode", parts, false);
  expect(read("opencode/opencode.jsonc")).toContain("mempalace-mcp");
  expect(existsSync(join(home, "opencode/opencode.json"))).toBe(false);
});

test("the installer finds an agent by its program or its folder, and reads its version from its package", () => {
  expect(findAgent("pi", parts.places)).toEqual({ program: undefined, version: undefined, hasFolder: false });
  put("lib/pi/package.json", '{"name":"@earendil-works/pi-coding-agent","version":"1.5.2"}');
  chmodSync(put("lib/pi/dist/cli.js", ""), 0o755);
  mkdirSync(join(home, "bin"));
  symlinkSync("../lib/pi/dist/cli.js", join(home, "bin/pi"));
  expect(findAgent("pi", parts.places)).toMatchObject({ program: join(home, "bin/pi"), version: "1.5.2" });
  mkdirSync(join(home, ".claude"));
  expect(findAgent("claude-code", parts.places)).toMatchObject({ program: undefined, hasFolder: true });
});

test("without install's record, uninstall keeps MemPalace's own server, and hooks whose command only contains ours", () => {
  const server = { command: "/opt/venv/bin/mempalace-mcp", args: ["--palace", "/data/p"], env: { A: "1" } };
  const theirs = JSON.stringify({ mcpServers: { mempalace: server } }, null, 2);
  const hook = (command: string) => [{ hooks: [{ type: "command", command }] }];
  const hooks = {
    Stop: hook("/opt/mindpalace hook claude-code"),
    SessionEnd: hook("FOO=1 /usr/bin/palace hook claude-code && notify-send done"),
  };
  const settings = JSON.stringify({ hooks }, null, 2);
  put(".claude.json", theirs);
  put(".claude/settings.json", settings);
  uninstall("claude-code", parts, false);
  expect([read(".claude.json"), read(".claude/settings.json")]).toEqual([theirs, settings]);
  install("claude-code", parts, false);
  expect(JSON.parse(read(".claude.json"))).toMatchObject({ mcpServers: { mempalace: { command: "mempalace-mcp" } } });
  for (const event of ["Stop", "SessionEnd"] as const)
    expect(JSON.parse(read(".claude/settings.json")).hooks[event]).toEqual([
      ...hooks[event],
      expect.objectContaining({ hooks: [expect.objectContaining({ command: "palace hook claude-code" })] }),
    ]);
  uninstall("claude-code", parts, false);
  expect([read(".claude.json"), read(".claude/settings.json")]).toEqual([theirs, settings]);
});

test.each([
  "/a/package/dist/bin/palace.js hook claude-code || :",
  "'/with a blank/palace.js' hook claude-code --palace '/my palace' || :",
  "/clone/scripts/palace hook claude-code",
  "/usr/bin/node /a/package/dist/bin/palace.js hook claude-code || :",
  "'/with a blank/node' '/with a blank/palace.js' hook claude-code || :",
])("install replaces the hook of an earlier palace install: %s", (command) => {
  put(".claude/settings.json", JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }));
  install("claude-code", parts, false);
  expect(JSON.parse(read(".claude/settings.json")).hooks.Stop).toHaveLength(1);
});

test("a second install fails during a running install and changes no file", () => {
  const release = new InstallState(parts.stateDir).lock();
  expect(() => install("pi", parts, false)).toThrow("another palace install is at work");
  expect(names()).toEqual(names().filter((name) => !name.startsWith("pi")));
  release();
  install("pi", parts, false);
  expect(wiringOf("pi", parts)).toBe("wired");
});
