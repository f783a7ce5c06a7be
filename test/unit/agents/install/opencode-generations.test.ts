/** Tests of our entry in the settings of opencode 1.x and of opencode 2, and of updates between them. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { labelOf, opencodeGeneration } from "../../../../src/agents/install/agent-files.ts";
import { install, type Outcome, type Parts, uninstall, wiringOf } from "../../../../src/agents/install/install.ts";
import { partsIn } from "./parts.ts";

const FILE = "opencode/opencode.jsonc";
const FIRST = { type: "local", command: ["mempalace-mcp"], enabled: true };
const SECOND = { type: "local", command: ["mempalace-mcp"], disabled: false, codemode: false };
const THEIRS = '{\n  // mine\n  "mcp": {\n    "servers": { "other": { "type": "local", "command": ["x"] } }\n  }\n}\n';
let home: string;
let parts: Parts;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "opencode-settings-"));
  parts = partsIn(home);
  put("package/opencode/palace.js", "export default 1;\n");
  put("package/skills/recall/SKILL.md", "recall\n");
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

function put(name: string, content: string): void {
  mkdirSync(dirname(join(home, name)), { recursive: true });
  writeFileSync(join(home, name), content, { mode: 0o755 });
}

/** Makes an opencode program. Without `version` no package.json names a version, as after opencode's own installer. */
function useOpencode(version: string | undefined): void {
  put("bin/opencode", "#!/bin/sh\n");
  rmSync(join(home, "package.json"), { force: true });
  if (version !== undefined) put("package.json", JSON.stringify({ name: "opencode-linux-x64", version }));
}

const read = (name: string): string => readFileSync(join(home, name), "utf8");
const settings = (): Record<string, unknown> => JSON.parse(read(FILE).replaceAll(/^\s*\/\/.*$/gm, "")) as never;
const noteOf = ({ changes }: Outcome): string | undefined => changes.find(({ kind }) => kind === "merge")?.note;

test("for opencode 2, install writes an entry in the form of version 2 and adds no packages for 1.x", () => {
  useOpencode("2.2.6");
  put(FILE, THEIRS);
  expect(labelOf("opencode", parts.places)).toBe("opencode 2");
  expect(noteOf(install("opencode", parts, false))).toBeUndefined();
  expect(settings()).toEqual({
    mcp: { servers: { other: { type: "local", command: ["x"] }, mempalace: SECOND } },
  });
  expect(read(FILE)).toContain("// mine");
  expect(existsSync(join(home, "opencode/package.json"))).toBe(false);
  expect(read("opencode/plugins/palace.js")).toContain("export default 1;");
  expect(wiringOf("opencode", parts)).toBe("wired");
  put(FILE, read(FILE).replace("// mine", "// still mine"));
  uninstall("opencode", parts, false);
  expect(read(FILE)).toBe(THEIRS.replace("// mine", "// still mine"));
});

test("uninstall deletes a settings file that install made for opencode 2, and keeps a user's empty object", () => {
  useOpencode("2.0.0");
  install("opencode", parts, false);
  expect(JSON.parse(read("opencode/opencode.json"))).toMatchObject({ mcp: { servers: { mempalace: SECOND } } });
  uninstall("opencode", parts, false);
  expect(existsSync(join(home, "opencode"))).toBe(false);
  const own = '{\n  "mcp": {\n    "servers": {}\n  },\n  "x": 1\n}\n';
  put(FILE, own);
  install("opencode", parts, false);
  put(FILE, read(FILE).replace('"x": 1', '"x": 2'));
  uninstall("opencode", parts, false);
  expect(JSON.parse(read(FILE))).toEqual({ mcp: { servers: {} }, x: 2 });
});

test("after an update to opencode 2 our entry counts as drifted, and install moves the entry to mcp.servers", () => {
  for (const isEdited of [false, true]) {
    const theirs = '{\n  "mcp": {\n    "mine": { "type": "local", "command": ["x"] }\n  },\n  "n": 1\n}\n';
    put(FILE, theirs);
    useOpencode("1.18.33");
    install("opencode", parts, false);
    expect(settings()).toMatchObject({ mcp: { mempalace: FIRST } });
    expect(existsSync(join(home, "opencode/package.json"))).toBe(true);
    useOpencode("2.2.6");
    if (isEdited) put(FILE, read(FILE).replace('"n": 1', '"n": 2'));
    expect(wiringOf("opencode", parts)).toBe("drifted");
    install("opencode", parts, false);
    expect(settings()).toMatchObject({ mcp: { mine: { command: ["x"] }, servers: { mempalace: SECOND } } });
    expect(read(FILE).match(/"mempalace"/g)).toHaveLength(1);
    expect(wiringOf("opencode", parts)).toBe("wired");
    uninstall("opencode", parts, false);
    expect(read(FILE)).toBe(isEdited ? theirs.replace('"n": 1', '"n": 2') : theirs);
    expect(existsSync(join(home, "opencode/package.json"))).toBe(false);
  }
});

test("uninstall removes the entry of 1.x after an update, and install moves the entry back after a downgrade", () => {
  put(FILE, '{ "n": 1 }\n');
  useOpencode("1.18.33");
  install("opencode", parts, false);
  useOpencode("2.2.6");
  put(FILE, read(FILE).replace('"n": 1', '"n": 2'));
  uninstall("opencode", parts, false);
  expect(JSON.parse(read(FILE))).toEqual({ n: 2 });
  install("opencode", parts, false);
  useOpencode("1.18.33");
  install("opencode", parts, false);
  expect(settings()).toEqual({ n: 2, mcp: { mempalace: FIRST } });
});

test("uninstall restores the user's own MCP server `mempalace` that install replaced", () => {
  useOpencode("2.2.6");
  const own = '{ "mcp": { "servers": { "mempalace": { "type": "remote", "url": "https://x" } } } }\n';
  put(FILE, own);
  install("opencode", parts, false);
  expect(settings()).toEqual({ mcp: { servers: { mempalace: SECOND } } });
  uninstall("opencode", parts, false);
  expect(read(FILE)).toBe(own);
  // Uninstall also restores the server after an update from 1.x.
  useOpencode("1.18.33");
  install("opencode", parts, false);
  useOpencode("2.2.6");
  install("opencode", parts, false);
  uninstall("opencode", parts, false);
  expect(read(FILE)).toBe(own);
});

test("if opencode's version is unknown, install uses the form of the settings file, or else the form of 1.x with a note", () => {
  useOpencode(undefined);
  put(FILE, '{ "plugin": ["x"], "mcp": { "servers": { "type": "local", "command": ["named servers"] } } }\n');
  expect(opencodeGeneration(parts.places)).toBeUndefined();
  expect(labelOf("opencode", parts.places)).toBe("opencode");
  expect(noteOf(install("opencode", parts, false))).toContain("opencode 2 reads too");
  expect(settings()).toMatchObject({ mcp: { mempalace: FIRST } });
  put(FILE, '{ "plugins": ["x"] }\n');
  expect(opencodeGeneration(parts.places)).toBe(2);
  put(FILE, THEIRS);
  install("opencode", parts, false);
  expect(settings()).toMatchObject({ mcp: { servers: { mempalace: SECOND } } });
  // A known version decides, even against the settings file, because 1.x cannot read the form of version 2.
  useOpencode("1.18.33");
  put(FILE, THEIRS);
  expect(noteOf(install("opencode", parts, false))).toBeUndefined();
  expect(settings()).toMatchObject({ mcp: { mempalace: FIRST } });
  put(FILE, '{\n"a" 1}');
  useOpencode(undefined);
  expect(opencodeGeneration(parts.places)).toBeUndefined();
  expect(() => install("opencode", parts, false)).toThrow("line 2");
});

test("install refuses settings in which mcp or mcp.servers is not an object", () => {
  useOpencode("2.2.6");
  for (const [text, name] of [
    ['{ "mcp": 1 }', "mcp is not an object"],
    ['{ "mcp": { "servers": [] } }', "mcp.servers is not an object"],
  ] as const) {
    put(FILE, text);
    expect(() => install("opencode", parts, false)).toThrow(name);
    expect(read(FILE)).toBe(text);
  }
});
