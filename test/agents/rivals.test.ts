/** Tests that `palace install status` names a configuration that competes with ours, and that the printed command removes it. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Agent } from "../../scripts/agents.ts";
import { FENCE } from "./fenced.ts";
import { type AgentsHome, openAgentsHome } from "./on-host.ts";
import { MODEL_OF, PREFIX_OF, runOf } from "./real-agents.ts";
import { type Seen, startStubModel, type StubModel } from "./stub-model.ts";

const TRIES = 8;
const NAMES: Record<Agent, string> = { claude: "claude-code", opencode: "opencode", pi: "pi" };
const OTHER_SERVER = `import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const tools = [{ name: "other_tool", description: "x", inputSchema: { type: "object" } }];
  const begun = { capabilities: { tools: {} }, serverInfo: { name: "other", version: "1" } };
  const result =
    method === "initialize" ? { protocolVersion: params.protocolVersion, ...begun } : method === "tools/list" ? { tools } : {};
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});
`;

let model: StubModel;
let home: AgentsHome;
let url = "";
let other = "";

beforeAll(async () => {
  model = await startStubModel();
  url = `http://127.0.0.1:${model.port}`;
  home = await openAgentsHome(url);
  other = put("other.mjs", OTHER_SERVER);
  const drawer = { wing: "agents", room: "0", content: "the spare key hangs behind the door" };
  const client = await home.palace.client();
  await client.callTool("mempalace_add_drawer", drawer);
  client.close();
});
afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

function put(name: string, content: string): string {
  const file = join(home.palace.home, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

function edit(name: string, change: (settings: Record<string, unknown>) => object): void {
  const file = join(home.palace.home, name);
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>)));
}

type Shown = { tools: string[]; text: string; fences: number };
/**
 * Returns the tools and texts that a new session shows its model. Begins further sessions until `isMeant` is true, because a late hook adds
 * no text.
 */
async function shown(agent: Agent, isMeant: (shown: Shown) => boolean = () => true): Promise<Shown> {
  for (let left = TRIES; ; left -= 1) {
    await home.start(agent, runOf(agent, "Say hello", url));
    const { tools, texts } = (await (await fetch(`${url}/seen`)).json()) as Seen;
    const text = (texts[MODEL_OF[agent]] ?? []).join("\n");
    const all = (tools[MODEL_OF[agent]] ?? []).map(({ name }) => name);
    const seen = { tools: all, text, fences: text.split(FENCE).length - 1 };
    if (isMeant(seen) || left <= 1) return seen;
  }
}

type Named = { state: string; rivals: { what: string; where: string; takeOut: string }[] };
async function agentsSay(agent: Agent): Promise<Named> {
  const program = home.palace.executable("palace");
  const { stdout } = await execa(process.execPath, [program, "install", "status", "--json"], {
    ...home.within({}),
    extendEnv: false,
  });
  const { agents } = JSON.parse(stdout) as { agents: (Named & { agent: string })[] };
  return agents.find((one) => one.agent === NAMES[agent]) ?? expect.fail(stdout);
}

async function type(command: string): Promise<void> {
  await execa("sh", ["-c", command], { ...home.within({}), extendEnv: false });
}

const ourTool = (agent: Agent): string => `${PREFIX_OF[agent]}mempalace_search`;
const isAlone = (agent: Agent) => (seen: Shown) => seen.tools.includes(ourTool(agent)) && seen.fences === 1;

async function expectOursAlone(agent: Agent): Promise<void> {
  expect(await agentsSay(agent)).toMatchObject({ state: "wired", rivals: [] });
  const seen = await shown(agent, isAlone(agent));
  expect({ fences: seen.fences, isOurs: seen.tools.includes(ourTool(agent)) }).toEqual({ fences: 1, isOurs: true });
  expect(seen.tools.filter((name) => name.includes("other"))).toEqual([]);
}

test("Claude Code runs a local-scope server called mempalace instead of ours until the user removes it", async () => {
  const server = { type: "stdio", command: "node", args: [other], alwaysLoad: true };
  await type(`claude mcp add-json mempalace '${JSON.stringify(server)}'`);
  edit(".claude/settings.json", ({ hooks, ...rest }) => {
    const roampal = { hooks: [{ type: "command", command: "echo ROAMPAL SAYS # roampal" }] };
    const { UserPromptSubmit = [], ...events } = hooks as Record<string, unknown[]>;
    return { ...rest, hooks: { ...events, UserPromptSubmit: [...UserPromptSubmit, roampal] } };
  });
  const before = await shown("claude", ({ fences, text }) => fences === 1 && text.includes("ROAMPAL SAYS"));
  expect(before.tools).toContain(`${PREFIX_OF.claude}other_tool`);
  expect(before.tools).not.toContain(ourTool("claude"));
  expect(before.text).toContain("ROAMPAL SAYS");
  const { state, rivals } = await agentsSay("claude");
  expect(state).toBe("conflict");
  expect(rivals.map(({ what }) => what)).toEqual([
    "a server called mempalace in local scope",
    "Roampal's hook for UserPromptSubmit",
  ]);
  await type(rivals[0]?.takeOut ?? "");
  edit(".claude/settings.json", ({ hooks, ...rest }) => {
    const { UserPromptSubmit = [], ...events } = hooks as Record<string, unknown[]>;
    return { ...rest, hooks: { ...events, UserPromptSubmit: UserPromptSubmit.slice(0, 1) } };
  });
  await expectOursAlone("claude");
});

test.each([
  ["disableAllHooks", (text: string) => text.replace("{", '{ "disableAllHooks": true,'), "disableAllHooks"],
  ["a comment", (text: string) => text.replace("{", "{ // mine\n"), "a comment in a file"],
])(
  "`install status` reports that Claude Code shows its model no memory with %s in its settings",
  async (_, change, what) => {
    const file = join(home.palace.home, ".claude/settings.json");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, change(before));
    expect((await shown("claude")).fences).toBe(0);
    expect(await agentsSay("claude")).toMatchObject({
      state: "conflict",
      rivals: [{ what: expect.stringContaining(what) }],
    });
    writeFileSync(file, before);
  },
);

test("Claude Code drops our tools if the user disables our server or approves a project's server of the same name", async () => {
  const file = join(home.palace.home, ".claude.json");
  const before = readFileSync(file, "utf8");
  const project = home.within({}).cwd;
  const settle = (more: object): void =>
    edit(".claude.json", ({ projects, ...rest }) => {
      const all = (projects ?? {}) as Record<string, object>;
      return { ...rest, projects: { ...all, [project]: { ...all[project], hasTrustDialogAccepted: true, ...more } } };
    });
  settle({ disabledMcpServers: ["mempalace"] });
  expect((await shown("claude")).tools.filter((name) => name.startsWith(PREFIX_OF.claude))).toEqual([]);
  expect(await agentsSay("claude")).toMatchObject({
    state: "conflict",
    rivals: [{ what: expect.stringContaining("disabled") }],
  });
  settle({ disabledMcpServers: [], enabledMcpjsonServers: ["mempalace"] });
  put(
    "project/.mcp.json",
    JSON.stringify({ mcpServers: { mempalace: { command: "node", args: [other], alwaysLoad: true } } }),
  );
  expect((await shown("claude")).tools).toContain(`${PREFIX_OF.claude}other_tool`);
  const { rivals } = await agentsSay("claude");
  expect(rivals.map(({ what }) => what)).toEqual(["a server called mempalace in the project's .mcp.json"]);
  await type(rivals[0]?.takeOut ?? "");
  writeFileSync(file, before);
  await expectOursAlone("claude");
});

test("`install status` names MemPalace's plugin and a permission rule that removes our tools", async () => {
  const market = { name: "mempalace", owner: { name: "x" } };
  const plugin = { name: "mempalace", source: "./plugin", description: "x" };
  put("market/.claude-plugin/marketplace.json", JSON.stringify({ ...market, plugins: [plugin] }));
  put("market/plugin/.claude-plugin/plugin.json", JSON.stringify({ name: "mempalace", version: "1.0.0" }));
  const server = { command: "node", args: [other], alwaysLoad: true };
  put("market/plugin/.mcp.json", JSON.stringify({ mcpServers: { mempalace: server } }));
  const before = readFileSync(join(home.palace.home, ".claude/settings.json"), "utf8");
  await type(`claude plugin marketplace add ${join(home.palace.home, "market")}`);
  await type("claude plugin install mempalace@mempalace");
  const { tools } = await shown("claude");
  expect(tools).toEqual(expect.arrayContaining([ourTool("claude"), "mcp__plugin_mempalace_mempalace__other_tool"]));
  const { rivals } = await agentsSay("claude");
  expect(rivals.map(({ what }) => what)).toEqual(["the plugin mempalace@mempalace"]);
  await type(rivals[0]?.takeOut ?? "");
  await expectOursAlone("claude");
  edit(".claude/settings.json", (settings) => ({ ...settings, permissions: { deny: ["mcp__mempalace"] } }));
  expect((await shown("claude")).tools).not.toContain(ourTool("claude"));
  expect((await agentsSay("claude")).rivals.map(({ what }) => what)).toEqual([
    "the permission rule deny mcp__mempalace",
  ]);
  writeFileSync(join(home.palace.home, ".claude/settings.json"), before);
});

test("`install status` names a second mempalace extension of pi, and pi shows the tools of both", async () => {
  const tool = `{ name: "mempalace_other", label: "x", description: "x", parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [{ type: "text", text: "x" }] }) }`;
  put(".pi/agent/extensions/mempalace.ts", `export default (pi) => pi.registerTool(${tool});\n`);
  expect((await shown("pi")).tools).toEqual(expect.arrayContaining(["mempalace_other", ourTool("pi")]));
  const { state, rivals } = await agentsSay("pi");
  expect({ state, count: rivals.length }).toEqual({ state: "conflict", count: 1 });
  await type(rivals[0]?.takeOut ?? "");
  await expectOursAlone("pi");
});

test("pi expands a tilde in PI_CODING_AGENT_DIR and shows its model each of our tools once", async () => {
  cpSync(join(home.palace.home, ".pi/agent"), join(home.palace.home, ".pi-work"), { recursive: true });
  const run = runOf("pi", "Say hello", url);
  await home.start("pi", { ...run, env: { ...run.env, PI_CODING_AGENT_DIR: "~/.pi-work" } });
  const { tools } = (await (await fetch(`${url}/seen`)).json()) as Seen;
  const ours = (tools[MODEL_OF.pi] ?? []).filter(({ name }) => name.endsWith("mempalace_search"));
  expect(ours.map(({ name }) => name)).toEqual([ourTool("pi")]);
});

test("opencode shows the wake-up text twice if our plugin is in plugin/ and in plugins/", async () => {
  const folder = join(home.palace.home, ".config/opencode");
  cpSync(join(folder, "plugins"), join(folder, "plugin"), { recursive: true });
  const server = { type: "local", command: ["node", other], enabled: true };
  put("project/opencode.json", JSON.stringify({ mcp: { mempalace: server } }));
  const before = await shown("opencode", ({ fences }) => fences === 2);
  expect(before.fences).toBe(2);
  expect(before.tools).toContain(`${PREFIX_OF.opencode}other_tool`);
  expect(before.tools).not.toContain(ourTool("opencode"));
  const { state, rivals } = await agentsSay("opencode");
  expect(state).toBe("conflict");
  expect(rivals.map(({ where }) => where)).toEqual([
    expect.stringContaining("project/opencode.json:"),
    join(folder, "plugin/palace.js"),
  ]);
  await type(rivals[1]?.takeOut ?? "");
  rmSync(join(home.palace.home, "project/opencode.json"));
  await expectOursAlone("opencode");
});
