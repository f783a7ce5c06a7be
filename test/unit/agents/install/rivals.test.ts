/** Tests that we find every kind of rival: a setting or program that replaces, repeats or disables our wiring. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AGENTS, type AgentName } from "../../../../src/agents/install/agent-files.ts";
import { install, type Parts } from "../../../../src/agents/install/install.ts";
import { RIVALS, rivalsOf } from "../../../../src/agents/install/rivals/rivals.ts";
import { partsIn } from "./parts.ts";

let home = "";
let parts: Parts;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-rivals-"));
  parts = partsIn(home);
  mkdirSync(join(home, "project/.git"), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const put = (name: string, content: unknown): void => {
  const file = join(home, name);
  mkdirSync(dirname(file), { recursive: true });
  const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
  writeFileSync(file, text.replaceAll("HOME", home), { mode: 0o755 });
};

const PYTHON = { command: "python3", args: ["-m", "mempalace.mcp_server"] };
const hooks = (command: string) => ({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } });
const inProject = (what: object) => ({ projects: { "HOME/project": what, "HOME/gone": what } });

type Case = {
  agent: AgentName;
  row: string;
  files: Record<string, unknown>;
  /** The place of each rival in the settings, and the command that removes the rival. */
  found: [where: string, takeOut: string][];
};

const CASES: Case[] = [
  {
    ...{ agent: "claude-code", row: "strict JSON" },
    files: { ".claude/settings.json": '{\n  "a": 1, // mine\n  "b": [2,]\n}', ".claude.json": '{\n  "a": [1, 2,]\n}' },
    found: [
      [".claude.json:2:13", "line 2, column 13"],
      [".claude/settings.json:2:11", "line 2, column 11"],
    ],
  },
  {
    ...{ agent: "claude-code", row: "local server" },
    files: {
      ".claude.json": inProject({ mcpServers: { mempalace: PYTHON, "roampal-core": { command: "x" }, other: {} } }),
    },
    found: [
      [".claude.json:5", "cd HOME/project && claude mcp remove mempalace -s local"],
      [".claude.json:12", "cd HOME/project && claude mcp remove roampal-core -s local"],
    ],
  },
  {
    ...{ agent: "claude-code", row: "project server" },
    files: { "project/.mcp.json": { mcpServers: { mempalace: PYTHON } }, ".claude.json": inProject({}) },
    found: [["project/.mcp.json:3", "cd HOME/project && claude mcp remove mempalace -s project"]],
  },
  {
    ...{ agent: "claude-code", row: "disabled server" },
    files: { ".claude.json": inProject({ disabledMcpServers: ["mempalace"] }) },
    found: [[".claude.json:4", "cd HOME/project && claude, then: /mcp enable mempalace"]],
  },
  {
    ...{ agent: "claude-code", row: "server policy" },
    files: {
      ".claude/settings.json": { deniedMcpServers: [{ serverName: "mempalace" }] },
      "etc/managed-settings.json": { allowedMcpServers: [{ serverName: "github" }] },
      "etc/managed-settings.d/10.json": { allowedMcpServers: [{ serverCommand: ["x"] }] },
    },
    found: [
      [".claude/settings.json:2", "take mempalace out of"],
      ["etc/managed-settings.json:2", "the administrator of this machine"],
    ],
  },
  {
    ...{ agent: "claude-code", row: "managed servers" },
    files: { "etc/managed-mcp.json": { mcpServers: { mempalace: PYTHON } } },
    found: [["etc/managed-mcp.json", "the administrator of this machine"]],
  },
  {
    ...{ agent: "claude-code", row: "hooks off" },
    files: {
      ".claude/settings.json": { disableAllHooks: true },
      "project/.claude/settings.local.json": { a: 1, disableAllHooks: true },
    },
    found: [
      [".claude/settings.json:2", "take disableAllHooks out of"],
      ["project/.claude/settings.local.json:3", "take disableAllHooks out of"],
    ],
  },
  {
    ...{ agent: "claude-code", row: "managed hooks" },
    files: { "etc/managed-settings.json": { disableAllHooks: false, allowManagedHooksOnly: true } },
    found: [["etc/managed-settings.json:3", "the administrator of this machine"]],
  },
  {
    ...{ agent: "claude-code", row: "sandbox" },
    files: {
      ".claude/settings.json": { sandbox: { enabled: true, network: { allowUnixSockets: [] } } },
      "etc/managed-settings.json": { sandbox: { enabled: true } },
    },
    found: [[".claude/settings.json:3", 'put "network":{"allowAllUnixSockets":true} into "sandbox" of']],
  },
  {
    ...{ agent: "claude-code", row: "permission rule" },
    files: { ".claude/settings.json": { permissions: { deny: ["Read"], ask: ["mcp__mempalace__*"] } } },
    found: [[".claude/settings.json:7", "take it out of"]],
  },
  {
    ...{ agent: "claude-code", row: "plugin" },
    files: { ".claude/settings.json": { enabledPlugins: { "mempalace@mempalace": true, "roampal@x": false } } },
    found: [[".claude/settings.json:3", "claude plugin disable mempalace@mempalace"]],
  },
  {
    ...{ agent: "claude-code", row: "MemPalace's hooks" },
    files: { ".claude/settings.json": hooks("/opt/bin/mempalace hook run --hook stop --harness claude-code") },
    found: [[".claude/settings.json:6", "take that hook out of"]],
  },
  {
    ...{ agent: "claude-code", row: "Roampal's hooks" },
    files: { ".claude/settings.json": hooks("python -m roampal.hooks.stop_hook") },
    found: [[".claude/settings.json:6", "take that hook out of"]],
  },
  {
    ...{ agent: "claude-code", row: "Roampal's server" },
    files: { ".claude.json": { mcpServers: { "roampal-core": { command: "roampal" } } } },
    found: [[".claude.json:3", "claude mcp remove roampal-core -s user"]],
  },
  {
    ...{ agent: "opencode", row: "native server" },
    files: { "opencode/opencode.json": { mcp: { servers: { mempalace: { type: "local", command: ["python3"] } } } } },
    found: [["opencode/opencode.json:4", "take mcp.servers.mempalace out of"]],
  },
  {
    ...{ agent: "opencode", row: "project server" },
    files: { "project/opencode.jsonc": '{ "mcp": { // off here\n "mempalace": { "enabled": false } } }' },
    found: [["project/opencode.jsonc:2", "take mcp.mempalace out of"]],
  },
  {
    ...{ agent: "opencode", row: "second plugin folder" },
    files: {
      "opencode/plugin/palace.js": "",
      "opencode/plugins/palace.js": "",
      "project/.opencode/plugin/other.js": "",
    },
    found: [["opencode/plugin/palace.js", "rm HOME/opencode/plugin/palace.js"]],
  },
  {
    ...{ agent: "opencode", row: "Roampal's plugin" },
    files: { "opencode/plugins/roampal.ts": "" },
    found: [["opencode/plugins/roampal.ts", "rm HOME/opencode/plugins/roampal.ts"]],
  },
  {
    ...{ agent: "opencode", row: "Roampal's server" },
    files: { "opencode/opencode.json": { mcp: { "roampal-core": { type: "local", command: ["roampal"] } } } },
    found: [["opencode/opencode.json:3", "take mcp.roampal-core out of"]],
  },
  {
    ...{ agent: "pi", row: "extension" },
    files: {
      "pi/extensions/mempalace.ts": "",
      "pi/extensions/palace.js": "",
      "project/.pi/extensions/mempalace/index.ts": "",
    },
    found: [
      ["pi/extensions/mempalace.ts", "rm -r HOME/pi/extensions/mempalace.ts"],
      ["project/.pi/extensions/mempalace", "rm -r HOME/project/.pi/extensions/mempalace"],
    ],
  },
  {
    ...{ agent: "pi", row: "package" },
    files: { "pi/settings.json": { packages: ["npm:pi-mempalace", "npm:pi-web"] } },
    found: [["pi/settings.json:2", "pi remove npm:pi-mempalace"]],
  },
  {
    ...{ agent: "pi", row: "MCP off" },
    files: { "pi/settings.json": { extensions: ["-builtin:mcp"] } },
    found: [["pi/settings.json:2", 'take "-builtin:mcp" out of']],
  },
  {
    ...{ agent: "pi", row: "project server" },
    files: { "project/.pi/mcp.json": { mcpServers: { mempalace: { enabled: false } } } },
    found: [["project/.pi/mcp.json:3", "cd HOME/project && pi mcp remove -l mempalace"]],
  },
  {
    ...{ agent: "pi", row: "Roampal's server" },
    files: { "pi/mcp.json": { mcpServers: { roampal: { command: "roampal" } } } },
    found: [["pi/mcp.json:3", "pi mcp remove roampal"]],
  },
];

test.each(CASES)(
  "$agent, $row: the report names the rival's place and says how to remove the rival",
  ({ agent, files, found }) => {
    for (const [name, content] of Object.entries(files)) put(name, content);
    const rivals = rivalsOf(agent, parts, join(home, "project"));
    expect(rivals.map(({ where }) => where)).toEqual(found.map(([where]) => join(home, where)));
    for (const [at, [, takeOut]] of found.entries())
      expect(rivals[at]?.takeOut).toContain(takeOut.replaceAll("HOME", home));
  },
);

test("every row of the table of rivals has a case in this file", () => {
  const rows = AGENTS.flatMap((agent) => RIVALS[agent].map(({ name }) => `${agent}, ${name}`));
  expect(CASES.map(({ agent, row }) => `${agent}, ${row}`)).toEqual(rows);
});

test("our entries and a server that the user rejected do not count as rivals", () => {
  const ours = { type: "stdio", command: "/clone/scripts/palace", args: ["shim"] };
  put(".claude.json", inProject({ mcpServers: { mempalace: ours }, disabledMcpjsonServers: ["mempalace"] }));
  put("project/.mcp.json", { mcpServers: { mempalace: PYTHON } });
  put("project/opencode.json", { mcp: { mempalace: { type: "local", command: ["/clone/scripts/palace", "shim"] } } });
  put("project/.pi/mcp.json", { mcpServers: { mempalace: ours } });
  for (const agent of AGENTS) {
    install(agent, parts, false);
    expect(rivalsOf(agent, parts, join(home, "project")), agent).toEqual([]);
  }
});

test("the command that removes a rival quotes a name with special characters", () => {
  const name = "roampal $(touch x)";
  put(".claude.json", { mcpServers: { [name]: {} }, ...inProject({ mcpServers: { [name]: {} } }) });
  put(".claude/settings.json", { enabledPlugins: { "roampal;x@y": true } });
  put("project/.mcp.json", { mcpServers: { [name]: {} } });
  put("pi/mcp.json", { mcpServers: { [name]: {} } });
  const commands = (["claude-code", "pi"] as const).flatMap((agent) =>
    rivalsOf(agent, parts, join(home, "project")).map(({ takeOut }) => takeOut),
  );
  expect(commands).toEqual([
    `cd ${home}/project && claude mcp remove '${name}' -s local`,
    `cd ${home}/project && claude mcp remove '${name}' -s project`,
    "claude plugin disable 'roampal;x@y'",
    `claude mcp remove '${name}' -s user`,
    `pi mcp remove '${name}'`,
  ]);
});

test("the search for rivals ignores a project path that is too long or has a NUL character", () => {
  put(".claude.json", { projects: { [`/${"x".repeat(5_000)}`]: {}, "/a\u0000b": {} } });
  expect(rivalsOf("claude-code", parts, join(home, "project"))).toEqual([]);
});
