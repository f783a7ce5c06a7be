/** Runs the real Roampal's hooks and MCP server, unchanged except for the port number, against the broker over real HTTP. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test, vi } from "vitest";
import { type Behind, listenersAt, told, withDoors } from "../../helpers/outcome-http.ts";
import {
  type ClientEnd,
  ROAMPAL_VERSIONS,
  roampalClient,
  type RoampalVersion,
  roampalMissing,
  runRoampal,
} from "../../helpers/python-roampal.ts";

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

const TIMEOUT_MS = 300_000;
const PROMPT = "roampal.hooks.user_prompt_submit_hook";
const STOP = "roampal.hooks.stop_hook";
const LOCAL = { MEMPALACE_OUTCOME_LOCAL: "on" };

for (const version of ROAMPAL_VERSIONS) {
  const missing = await roampalMissing(version);
  const claim = (title: string, run: () => Promise<void>): void =>
    test.skipIf(missing !== undefined)(
      missing === undefined ? `${version}: ${title}` : `${version}: ${title} (${missing})`,
      { timeout: TIMEOUT_MS },
      run,
    );

  claim("without the owner's permission Roampal's hooks print nothing, exit with 0 and end no process", async () => {
    await using palace = await withDoors(false);
    const before = await identity(palace);
    for (const prompt of ["How is the oven cleaned?", "And the fridge?"]) {
      expect(await submit(version, palace, "s1", prompt)).toMatchObject({ code: 0, stdout: "" });
      expect(await stop(version, palace, "s1", prompt, "With soda.")).toMatchObject({ code: 0, stdout: "" });
    }
    expect(await identity(palace)).toEqual(before);
    expect(await told(palace.door, "/api/stats")).toMatchObject({ collections: { working: { count: 0 } } });
  });

  if (version === "0.6.0")
    claim("Roampal's hooks in a folder of an unknown profile get the reason and read and store no memory", async () => {
      await using palace = await withDoors(false, LOCAL);
      const settings = join(palace.home, ".config/roampal");
      mkdirSync(settings, { recursive: true });
      const registry = { bindings: { [palace.home]: "work" } };
      writeFileSync(join(settings, "profiles.json"), JSON.stringify(registry));
      const before = await identity(palace);
      expect(await submit(version, palace, "s1", "Who is the client?")).toMatchObject({
        ...{ code: 1, stdout: "", stderr: expect.stringContaining('Profile "work"') },
      });
      expect(await stop(version, palace, "s1", "Who is the client?", "Contoso.")).toMatchObject({ code: 0 });
      expect(await told(palace.door, "/api/stats")).toMatchObject({ collections: { working: { count: 0 } } });
      expect(await identity(palace)).toEqual(before);
    });

  claim("the broker survives a hook of Roampal that kills the port's process, and opens the port again", async () => {
    await using palace = await withDoors(false, LOCAL);
    const { instance, holders } = await identity(palace);
    const isSame = async (): Promise<void> => expect((await identity(palace)).instance).toBe(instance);
    // The hook stops `lsof` after five seconds. On a busy machine that may be too early, and the hook then kills no process.
    await vi.waitFor(
      async () => {
        // The session id is longer than we accept, so the hook gets an error.
        await submit(version, palace, "s".repeat(300), "How is the oven cleaned?");
        await vi.waitFor(isSame, { timeout: 60_000, interval: 100 });
        if (version === "0.3.6.1")
          expect((await identity(palace)).holders, "the hook kills the process that has the port").not.toEqual(holders);
      },
      { timeout: TIMEOUT_MS / 2, interval: 100 },
    );
    expect(await submit(version, palace, "s2", "How is the oven cleaned?")).toMatchObject({ code: 0 });
  });

  claim("Roampal's hooks and MCP server store an exchange, ask about it, score it and find it once", async () => {
    await using palace = await withDoors(false, LOCAL);
    const first = "How is the oven cleaned?";
    expect(await submit(version, palace, "s1", first)).toMatchObject({ code: 0 });
    expect(await stop(version, palace, "s1", first, "With soda and patience.")).toMatchObject({ code: 0 });
    const next = await submit(version, palace, "s1", "Thanks, that worked.");
    expect(next).toMatchObject({ code: 0, stdout: expect.stringContaining("With soda and patience.") });
    expect(next.stdout).toContain("score_memories");
    const tool = await mcpServer(version, palace);
    try {
      const facts = version === "0.6.0" ? { facts: ["The oven is cleaned with soda."], noun_tags: ["oven"] } : {};
      const summary = { exchange_summary: "The oven is cleaned with soda.", exchange_outcome: "worked" };
      for (let times = 0; times < 2; times++)
        expect(await tool("score_memories", { memory_scores: {}, ...summary, ...facts })).toContain("Scored");
      const { collections } = await told(palace.door, "/api/stats");
      expect(collections).toMatchObject({ working: { count: version === "0.6.0" ? 2 : 1 } });
      expect(await tool("search_memory", { query: "oven soda" })).toContain("The oven is cleaned with soda.");
      if (version === "0.6.0")
        expect(await tool("search_memory", { query: "oven", type: "fact" })).toContain("Found 1 result");
      const { results } = await told(palace.door, "/api/search", { query: "", collections: ["working"] });
      const summaries = (results as Found[]).filter(({ metadata }) => metadata["memory_type"] !== "fact");
      expect(summaries).toMatchObject([{ uses: 1, metadata: { exchange_outcome: "worked" } }]);
      const added = await tool("add_to_memory_bank", {
        ...{ content: "The user bakes on Sundays.", tags: ["identity"], noun_tags: ["user"] },
      });
      const id = /memory_bank_\w+/.exec(added)?.[0];
      const named = version === "0.6.0" ? { id } : { old_content: "The user bakes on Sundays." };
      const updated = await tool("update_memory", { ...named, new_content: "The user bakes on Mondays." });
      expect(updated).toContain(id);
      const { results: held } = await told(palace.door, "/api/search", { id });
      expect(held).toMatchObject([{ content: "The user bakes on Mondays." }]);
    } finally {
      await tool.close();
    }
  });
}

type Found = { uses: number; metadata: Record<string, unknown> };

/** Starts Roampal's MCP server over stdio, which calls the broker's port. */
async function mcpServer(
  version: RoampalVersion,
  palace: Behind,
): Promise<((name: string, given: object) => Promise<string>) & { close: () => Promise<void> }> {
  const transport = new StdioClientTransport({
    ...roampalClient(version, "roampal.mcp.server", { home: palace.home, port: palace.port }),
    ...{ cwd: palace.home, stderr: "pipe" },
  });
  let said = "";
  transport.stderr?.on("data", (part: Buffer) => (said += part.toString()));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport, { timeout: TIMEOUT_MS });
  const call = async (name: string, given: object): Promise<string> => {
    const answer = await client.callTool({ name, arguments: { ...given } }, { timeout: TIMEOUT_MS });
    const [part] = answer.content as { text: string }[];
    if (answer.isError === true) console.error(`${version} ${name}: ${JSON.stringify(answer)}\n${said}`);
    return part?.text ?? "";
  };
  return Object.assign(call, { close: () => client.close() });
}

type Identity = { instance: unknown; holders: number[] };

async function identity(palace: Behind): Promise<Identity> {
  const { instance_id: instance } = await told(palace.door, "/api/health");
  return { instance, holders: listenersAt(palace.port) };
}

/** Runs the hook that Claude Code runs before a prompt. */
function submit(version: RoampalVersion, palace: Behind, session: string, prompt: string): Promise<ClientEnd> {
  return hook(version, palace, PROMPT, { session_id: session, hook_event_name: "UserPromptSubmit", prompt });
}

/** Runs the hook that Claude Code runs after an answer. */
function stop(
  version: RoampalVersion,
  palace: Behind,
  session: string,
  user: string,
  assistant: string,
): Promise<ClientEnd> {
  const file = join(palace.home, `${session}.jsonl`);
  const row = (type: string, text: string): string =>
    JSON.stringify({ type, message: { role: type, content: [{ type: "text", text }] } });
  writeFileSync(file, `${row("user", user)}\n${row("assistant", assistant)}\n`);
  const given = { session_id: session, hook_event_name: "Stop", transcript_path: file, stop_hook_active: false };
  return hook(version, palace, STOP, given);
}

async function hook(version: RoampalVersion, palace: Behind, module: string, given: object): Promise<ClientEnd> {
  mkdirSync(join(palace.home, ".claude"), { recursive: true });
  const stdin = JSON.stringify(given);
  const ended = await runRoampal(version, module, { home: palace.home, port: palace.port, stdin });
  if (ended.code !== 0) console.error(`${version} ${module}: ${JSON.stringify(ended, null, 1)}`);
  return ended;
}
