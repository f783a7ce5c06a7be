/** Tests install and uninstall with generated settings, as text and in real files. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { expect, test } from "vitest";
import { AGENTS, type AgentName, configFile } from "../../../../src/agents/install/agent-files.ts";
import { Draft } from "../../../../src/agents/install/draft.ts";
import { install, uninstall, wiringOf } from "../../../../src/agents/install/install.ts";
import { unwire, type Want, wire } from "../../../../src/agents/install/wire-entries.ts";
import { Chance, settings } from "./settings.ts";
import { partsIn } from "./parts.ts";

const TEXTS = 1_500;
const FILES = 510;

const ENTRY: Want = {
  kind: "entry",
  keys: ["mcpServers", "mempalace"],
  value: { command: "mempalace-mcp", args: [], more: { a: [1] } },
};
const DEEP: Want = { ...ENTRY, keys: ["mcp", "servers", "mempalace"] };
const EVENTS = ["SessionStart", "Stop"];
const HOOKS: Want = {
  kind: "hooks",
  events: EVENTS,
  hook: { type: "command", command: "palace hook claude-code", timeout: 10 },
  allow: ["mcp__mempalace"],
};

function generated(seed: number): { text: string; chance: Chance } {
  const chance = new Chance(seed);
  const server = (): string => chance.of(['{"command": "x"}', '{"url":"http://x"}', "null"]);
  const list = (): string =>
    chance.of(['[{"hooks": [{"type":"command","command":"mine"}]}]', "[]", '[{"matcher":"*","hooks":[]}]']);
  const rules = (): string => chance.of(['["Bash(ls:*)"]', "[]", '"plan"']);
  return { text: settings(chance, { mcpServers: server, mcp: server, hooks: list, permissions: rules }), chance };
}

/** Returns the settings as a parser reads them, in order, without our entries. */
function foreign(text: string): string {
  const value = (parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true }) ?? {}) as Record<
    string,
    Record<string, unknown>
  >;
  for (const key of ["mcpServers", "mcp"]) delete value[key]?.["mempalace"];
  const servers = value["mcp"]?.["servers"] as Record<string, unknown> | undefined;
  delete servers?.["mempalace"];
  if (servers !== undefined && Object.keys(servers).length === 0) delete value["mcp"]?.["servers"];
  for (const [event, groups] of Object.entries(value["hooks"] ?? {})) {
    if (!Array.isArray(groups)) continue;
    const left = groups.filter((group) => !JSON.stringify(group).includes("palace hook claude-code"));
    (value["hooks"] as Record<string, unknown>)[event] = left;
    if (left.length === 0 && EVENTS.concat("UserPromptSubmit", "PreCompact", "SessionEnd").includes(event))
      delete value["hooks"]?.[event];
  }
  const allowed = value["permissions"]?.["allow"];
  if (Array.isArray(allowed) && allowed.includes("mcp__mempalace")) {
    const left = allowed.filter((rule) => rule !== "mcp__mempalace");
    if (left.length > 0) (value["permissions"] as Record<string, unknown>)["allow"] = left;
    else delete value["permissions"]?.["allow"];
  }
  for (const key of ["mcpServers", "mcp", "hooks", "permissions"])
    if (Object.keys(value[key] ?? {}).length === 0) delete value[key];
  delete value["$schema"];
  return JSON.stringify(value);
}

/** Returns whether `whole` has every character of `part` in order: no text was removed or moved. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const one of whole) if (part.startsWith(one, at)) at += one.length;
  return at === part.length;
}

test(`install keeps every character of ${TEXTS} generated settings texts, and uninstall removes only blanks from them`, () => {
  for (let seed = 1; seed <= TEXTS; seed += 1) {
    const { text, chance } = generated(seed);
    const want = chance.of([ENTRY, DEEP, HOOKS]);
    const draft = new Draft("file", text);
    wire(draft, want);
    const wired = draft.content;
    const why = `seed ${seed}:\n${text}\n--- became\n${wired}`;
    expect(isWithin(text, wired), why).toBe(true);
    expect(foreign(wired), why).toBe(foreign(text));
    expect(wired.startsWith("\uFEFF"), why).toBe(text.startsWith("\uFEFF"));
    if (text.includes("\r\n")) expect(wired.replaceAll("\r\n", ""), why).not.toMatch(/\n/);
    wire(draft, want);
    expect(draft.content, why).toBe(wired);
    unwire(draft, want, undefined);
    const after = `${why}\n--- and then\n${draft.content}`;
    expect(foreign(draft.content), after).toBe(foreign(text));
    const comments = text.match(/c\d+/g) ?? [];
    expect(draft.content.match(/c\d+/g) ?? [], after).toEqual(comments);
    expect(draft.content, after).not.toContain("palace");
  }
});

test(`uninstall restores the bytes and modes of ${FILES} generated files, and install leaves read-only files unchanged`, () => {
  // Uses memory if the machine has /dev/shm, because each write is synced.
  const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "palace-settings-"));
  try {
    for (let seed = 1; seed <= FILES; seed += 1) tryFile(join(root, String(seed)), seed);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}, 300_000);

function tryFile(home: string, seed: number): void {
  const { text, chance } = generated(seed + 10_000);
  const agent: AgentName = chance.of(AGENTS);
  const parts = partsIn(home);
  const path = configFile(agent, parts.places);
  const target = chance.is(20) ? join(home, "elsewhere/linked.json") : path;
  const mode = chance.of([0o600, 0o644, 0o664, 0o440]);
  for (const file of [path, target]) mkdirSync(dirname(file), { recursive: true });
  writeFileSync(target, text);
  chmodSync(target, mode);
  if (target !== path) symlinkSync(target, path);
  const before = snapshot(home);
  const why = `seed ${seed}, ${agent}:\n${text}`;
  if (mode === 0o440) {
    expect(() => install(agent, parts, false), why).toThrow(/read-only/);
    return expect(snapshot(home), why).toEqual(before);
  }
  install(agent, parts, true);
  expect(snapshot(home), why).toEqual(before);
  install(agent, parts, false);
  const wired = snapshot(home);
  expect(foreign(readFileSync(target, "utf8")), why).toBe(foreign(text));
  expect(statSync(target).mode & 0o777, why).toBe(mode);
  expect(wiringOf(agent, parts), why).toBe("wired");
  expect(
    install(agent, parts, false).changes.every(({ action }) => action !== "write"),
    why,
  ).toBe(true);
  expect(snapshot(home), why).toEqual(wired);
  uninstall(agent, parts, false);
  expect(snapshot(home), why).toEqual(before);
}

/** Returns path, content and mode of every file except our own state. */
function snapshot(home: string): string[] {
  const files = existsSync(home) ? readdirSync(home, { recursive: true, encoding: "utf8" }) : [];
  return files
    .filter((name) => !name.startsWith("state") && statSync(join(home, name)).isFile())
    .map((name) => `${name} ${statSync(join(home, name)).mode.toString(8)} ${readFileSync(join(home, name), "hex")}`)
    .sort();
}
