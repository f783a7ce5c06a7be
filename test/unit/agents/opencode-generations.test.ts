/** Tests the plugin file for opencode 1.x and 2 with simulated hosts. A real process replaces the command `palace hook`. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Hooks } from "../../../src/agents/opencode/generation-1.ts";
import plugin from "../../../src/agents/opencode/palace.ts";
import { SecondHost } from "../../helpers/opencode-2-host.ts";

type Call = { args: string[]; input: { prompt?: string; cwd?: string; user?: string; assistant?: string } | "" };

const WAIT_MS = 30_000;
const MARK = Symbol.for("palace-devbox.opencode-1");
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "opencode-generations-"));
  const script = join(home, "hook.mjs");
  // The script logs each call and answers as `palace hook` does.
  writeFileSync(
    script,
    `import { appendFileSync, readFileSync } from "node:fs";
     const args = process.argv.slice(2);
     const text = readFileSync(0, "utf8");
     appendFileSync(${JSON.stringify(join(home, "calls"))}, JSON.stringify({ args, input: text && JSON.parse(text) }) + "\\n");
     if (args[0] === "wake-up") console.log(args.includes("--resumed") ? "" : "WAKE " + args[2]);
     if (args[0] === "turn") console.log(JSON.stringify({ scoring: "SCORE", context: "KNOWN" }));`,
  );
  vi.stubEnv("HOME", home);
  vi.stubEnv("MEMPALACE_HOME", join(home, "palace"));
  vi.stubEnv("MEMPALACE_OUTCOMES", "on");
  vi.stubEnv("MEMPALACE_HOOK_COMMAND", JSON.stringify([process.execPath, script]));
});

afterEach(() => {
  vi.unstubAllEnvs();
  delete (globalThis as { [MARK]?: boolean })[MARK];
  rmSync(home, { recursive: true, force: true });
});

function calls(name: string): Call[] {
  const file = join(home, "calls");
  const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  return lines.map((line) => JSON.parse(line) as Call).filter(({ args }) => args[0] === name);
}

async function called(name: string, times: number): Promise<Call[]> {
  await vi.waitFor(() => expect(calls(name)).toHaveLength(times), { timeout: WAIT_MS, interval: 50 });
  return calls(name);
}

async function loaded(): Promise<SecondHost> {
  const host = new SecondHost("/projects/ferns");
  await host.load(plugin);
  return host;
}

const textsOf = ({ messages }: { messages: { content: readonly { text?: string }[] }[] }): (string | undefined)[] =>
  messages.map(({ content }) => content[0]?.text);

/** Returns a session whose hook answered in time. Tries several sessions, because a hook may be late on a slow machine. */
async function begunAndTold(host: SecondHost): Promise<string> {
  for (let n = 1; n <= 20; n += 1) {
    const id = `ses_${n}`;
    host.create(id);
    await host.prompt(id, "how?");
    const request = await host.request(id);
    if (request.system.length === 2 && textsOf(request)[0]?.startsWith("SCORE") === true) return id;
  }
  throw new Error("no session got its text in time");
}

test("opencode 2: each request of a session has the same wake-up text, and the memories come before the message", async () => {
  const host = await loaded();
  const id = await begunAndTold(host);
  const first = await host.request(id);
  expect(first.system.slice(1)).toEqual([{ type: "text", text: `WAKE opencode/${id}` }]);
  expect(textsOf(first)).toEqual(["SCORE\nKNOWN\n\nhow?"]);
  expect(first.messages[0]).toBeInstanceOf(SecondHost.Message);
  const [wakeUp] = calls("wake-up").filter(({ args }) => args.includes(`opencode/${id}`));
  expect(wakeUp?.args).toEqual(expect.arrayContaining(["--cwd", "/projects/ferns"]));
  expect(calls("turn")[0]?.input).toMatchObject({ prompt: "how?", cwd: "/projects/ferns" });
  // opencode stores shell output as a user message. The question for scores stays in the earlier message.
  host.store(id, { type: "shell", text: "$ ls" });
  expect(textsOf(await host.request(id))).toEqual(["SCORE\nKNOWN\n\nhow?", "$ ls"]);
  expect((await host.request(id, "title")).system).toHaveLength(1);
  await host.unload();
});

test("opencode 2: when the agent's answer ends, the plugin stores the turn with its signals and files the session", async () => {
  const host = await loaded();
  host.create("ses_a");
  await host.prompt("ses_a", "how?");
  const state = { status: "completed", input: { command: "npm test" }, content: [{ type: "text", text: "1 failed" }] };
  host.answer("ses_a", [
    { type: "reasoning", text: "hm" },
    { type: "text", text: "I look." },
    { type: "tool", id: "c1", name: "shell", state: { ...state, structured: { exit: 1 } } },
    { type: "text", text: "There." },
  ]);
  const [kept] = await called("turn-end", 1);
  expect(kept?.input).toMatchObject({ user: "how?", assistant: "I look.\nThere.", cwd: "/projects/ferns" });
  expect(kept?.input).toMatchObject({ signals: expect.arrayContaining(["tests-failed"]) });
  expect((await called("file", 1))[0]?.args).toEqual(["file", "--from", "opencode", "--session", "ses_a"]);
  // The plugin also gets events of sessions that nobody prompted in this project.
  host.emit("session.execution.succeeded", { sessionID: "ses_elsewhere" });
  await host.prompt("ses_a", "and this?");
  host.answer("ses_a", [{ type: "text", text: "half" }], "interrupted");
  await called("file", 2);
  expect(calls("turn-end")).toHaveLength(1);
  await host.unload();
});

test("opencode 2: before a compaction the plugin files the session and adds a hint on search to the summary", async () => {
  const host = await loaded();
  const id = await begunAndTold(host);
  const filed = async (times: number): Promise<void> =>
    vi.waitFor(() => expect(calls("file").filter(({ args }) => args.includes(id))).toHaveLength(times), WAIT_MS);
  const request = await host.request(id, "compaction");
  expect(request.system[1]?.text).toContain("mempalace_search");
  expect(textsOf(request)).toEqual(["how?"]);
  await filed(1);
  await host.prompt(id, "go on");
  await vi.waitFor(() => {
    const next = calls("turn").find(({ input }) => input !== "" && input.prompt === "go on");
    expect(next?.args).toContain("--compacted");
  }, WAIT_MS);
  await host.unload();
  await filed(2);
});

test("opencode 2: for a resumed session the plugin asks for the stored wake-up text, and for a subagent it asks for none", async () => {
  const host = await loaded();
  host.sessions.set("ses_old", { messages: [{ id: "m", type: "user", text: "once" }] });
  await host.prompt("ses_old", "again");
  expect((await called("wake-up", 1))[0]?.args).toContain("--resumed");
  host.sessions.set("ses_child", { parentID: "ses_old", messages: [] });
  await host.prompt("ses_child", "do it");
  const request = await host.request("ses_child");
  expect(request.system).toHaveLength(1);
  expect((await host.request("ses_child", "compaction")).system).toHaveLength(1);
  host.answer("ses_child", [{ type: "text", text: "done" }]);
  host.answer("ses_old", [{ type: "text", text: "yes" }]);
  expect((await called("file", 1))[0]?.args).toContain("ses_old");
  expect(calls("wake-up")).toHaveLength(1);
  await host.unload();
});

test("opencode 2: the plugin survives a missing palace command and a refused hook", async () => {
  vi.stubEnv("MEMPALACE_HOOK_COMMAND", join(home, "none"));
  const host = await loaded();
  await host.prompt("ses_unknown", "how?");
  expect((await host.request("ses_unknown")).system).toHaveLength(1);
  host.emit("session.execution.failed", { sessionID: "ses_unknown" });
  host.emit("odd", undefined);
  await host.unload();
  const { session, ...rest } = host.context();
  const refusing = { ...session, hook: () => Promise.reject(new Error("no such hook")) };
  await expect(plugin.setup({ ...rest, session: refusing })).resolves.toBeTypeOf("function");
});

/** Context that opencode 1.18.33 passes to `setup`, without `session`, `event` and `app`. */
const FIRST_CONTEXT = { options: {}, agent: {}, aisdk: {}, catalog: {}, command: {}, plugin: { add: () => {} } };

test("opencode 1.18.33 accepts the plugin's default export, and only its function `server` has an effect", async () => {
  // The loader for 1.x requires a record with `server`, a string `id` for a file, and no `tui`.
  expect(plugin).toMatchObject({ id: expect.stringMatching(/\S/), server: expect.any(Function) });
  expect(plugin).not.toHaveProperty("tui");
  for (const isSetupFirst of [true, false]) {
    if (isSetupFirst) await plugin.setup(FIRST_CONTEXT);
    const hooks = (await plugin.server({})) as Hooks;
    if (!isSetupFirst) await plugin.setup(FIRST_CONTEXT);
    const id = `ses_${String(isSetupFirst)}`;
    await hooks.event({ event: { type: "session.created", properties: { info: { id } } } });
    await called("wake-up", isSetupFirst ? 1 : 2);
    await hooks.dispose();
  }
  // A later 1.x may pass more fields to `setup`. `setup` still does nothing.
  const { session, ...rest } = new SecondHost("/projects/ferns").context();
  const hook = vi.fn(() => Promise.resolve());
  await plugin.setup({ ...rest, app: { version: "1.19.0" }, session: { ...session, hook } });
  expect(hook).not.toHaveBeenCalled();
});

test("in a process that loads the plugin for both generations of opencode, each hook runs once", async () => {
  const host = new SecondHost("/projects/ferns");
  await host.load(plugin);
  const hooks = (await plugin.server({ client: { session: { get: () => Promise.resolve({}) } } })) as Hooks;
  await hooks["chat.message"]({ sessionID: "ses_a", messageID: "m" }, { parts: [{ type: "text", text: "how?" }] });
  await host.prompt("ses_a", "how?");
  expect((await host.request("ses_a")).system).toHaveLength(1);
  await called("turn", 1);
  await called("wake-up", 1);
  // With opencode 2's context, `server` returns no hooks.
  expect(await plugin.server(host.context() as object)).toEqual({});
  await hooks.dispose();
  await host.unload();
  await called("file", 1);
});
