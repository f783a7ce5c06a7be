import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../../src/base/version.ts";
import { INSTRUCTIONS } from "../../../src/protocol/introduction.ts";
import { toolsOf } from "../../../src/protocol/tools/profile.ts";
import { callOf, createSmallPalace } from "../../helpers/child-engine.ts";
import { DOOR_NAMES, DOORS, messageIn, type RawDoor } from "../../helpers/mcp-doors.ts";
import { ask, ENVELOPE, headersOf, modern, type Said, VERSION_META } from "../../helpers/mcp-modern.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";

const LISTS = ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"];
const SERVER = { name: "mempalace", version: VERSION };

const call = (door: RawDoor, name: string, values: Record<string, unknown> = {}): Promise<Said> =>
  ask(door, "tools/call", { name: `mempalace_${name}`, arguments: values });

describe.each(DOOR_NAMES)("MCP 2026-07-28 over %s", (name) => {
  let palace: TestPalace;
  let door: RawDoor;
  beforeAll(async () => {
    palace = createTestPalace();
    await palace.startBroker();
    door = await DOORS[name](palace);
  });
  afterAll(async () => {
    await door[Symbol.asyncDispose]();
    await palace[Symbol.asyncDispose]();
  });

  test("a client discovers the server without a handshake", async () => {
    const { result } = await ask(door, "server/discover");
    expect(result).toEqual({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: INSTRUCTIONS,
      resultType: "complete",
      ttlMs: 300_000,
      cacheScope: "private",
      _meta: { "io.modelcontextprotocol/serverInfo": SERVER },
    });
  });

  test("the answer to each list method has `resultType`, `ttlMs` and `cacheScope`, and the same order each time", async () => {
    for (const method of LISTS) {
      const { result } = await ask(door, method);
      expect(result, method).toMatchObject({ resultType: "complete", ttlMs: 300_000, cacheScope: "private" });
      expect(JSON.stringify((await ask(door, method)).result), method).toBe(JSON.stringify(result));
    }
    const { result } = await ask(door, "tools/list");
    expect(result?.["tools"]).toEqual(toolsOf("full", "2026-07-28"));
  });

  test("a request with an unsupported protocol version is refused for every method", async () => {
    for (const method of ["server/discover", "tools/list", "nobody/knows"]) {
      const { error } = await ask(door, method, {}, { ...ENVELOPE, [VERSION_META]: "2031-01-01" });
      expect(error, method).toEqual({
        code: -32022,
        message: "Unsupported protocol version: 2031-01-01",
        data: { supported: ["2026-07-28"], requested: "2031-01-01" },
      });
    }
  });

  test("a request without a required key in _meta is refused with the key's name", async () => {
    const key = "io.modelcontextprotocol/clientCapabilities";
    const { error } = await ask(door, "tools/list", {}, { [VERSION_META]: "2026-07-28" });
    expect(error).toMatchObject({ code: -32602, data: { envelope: { key, problem: "missing" } } });
    expect(error?.message).toBe(`Invalid _meta envelope for protocol revision 2026-07-28: ${key}: missing`);
    const unnamed = { ...ENVELOPE, "io.modelcontextprotocol/clientInfo": { version: "1" } };
    expect((await ask(door, "tools/list", {}, unnamed)).error).toMatchObject({ code: -32602 });
  });

  test("a client of 2026-07-28 gets an error for initialize, ping and unknown methods and tools", async () => {
    for (const method of ["initialize", "ping", "nobody/knows", "palace.status"])
      expect((await ask(door, method)).error, method).toMatchObject({ code: -32601 });
    expect((await call(door, "nope")).error).toMatchObject({ code: -32602, message: "Unknown tool: mempalace_nope" });
  });

  test("one connection serves clients of old and new revisions", async () => {
    const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "older", version: "1" } };
    const { result } = messageIn(await door.say({ id: 1, method: "initialize", params: initialize }));
    expect(result).toMatchObject({ protocolVersion: "2025-06-18", capabilities: { tools: {} } });
    expect(result).not.toHaveProperty("resultType");
    const headers = { "mcp-protocol-version": "2025-06-18" };
    const older = messageIn(await door.say({ id: 2, method: "tools/list" }, headers));
    expect(older.result).toEqual({ tools: toolsOf("full", "2025-06-18") });
    expect((await ask(door, "tools/list")).result?.["tools"]).toEqual(toolsOf("full", "2026-07-28"));
  });

  test("the wake-up text and each drawer are resources", async () => {
    const content = `a drawer read over ${name}: key AKIAABCDEFGHIJKLMNOP`;
    const added = await call(door, "add_drawer", { wing: "w", room: "r", content });
    const id = (added.result?.["structuredContent"] as { drawer_id: string }).drawer_id;
    const read = async (uri: string): Promise<Said> => ask(door, "resources/read", { uri });
    const drawer = (await read(`palace://drawer/${id}`)).result;
    expect(drawer).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" });
    expect(drawer?.["contents"]).toEqual([
      {
        uri: `palace://drawer/${id}`,
        mimeType: "text/plain",
        // A drawer as a resource is masked like the tools' answers.
        text: expect.stringMatching(/^a drawer read over \w+: key \[redacted: aws access key/) as string,
      },
    ]);
    const woken = (await read("palace://wake-up")).result?.["contents"] as { text: string }[];
    expect(woken[0]?.text).toContain(`a drawer read over ${name}`);
    for (const uri of ["palace://drawer/nope", "palace://drawer/%zz", "palace://drawer/", "file:///etc/passwd"])
      expect((await read(uri)).error, uri).toEqual({
        code: -32602,
        message: `Resource not found: ${uri}`,
        data: { uri },
      });
  });

  test("the prompt `wake-up` reads the memory, and the prompt `remember` files new memories", async () => {
    await call(door, "add_drawer", { wing: "prompted", room: "r", content: "told by the prompt" });
    const get = (prompt: string, values: object = {}): Promise<Said> =>
      ask(door, "prompts/get", { name: prompt, arguments: values });
    const textOf = ({ result }: Said): string =>
      (result?.["messages"] as { content: { text: string } }[])[0]?.content.text ?? "";
    const listed = (await ask(door, "prompts/list")).result?.["prompts"] as { name: string }[];
    expect(listed.map((prompt) => prompt.name)).toEqual(["wake-up", "remember"]);
    expect(textOf(await get("wake-up"))).toContain("told by the prompt");
    expect(textOf(await get("wake-up", { wing: "nobody's" }))).not.toContain("told by the prompt");
    expect(textOf(await get("remember"))).toContain("mempalace_diary_write");
    expect(textOf(await get("remember", { what: "the key is under the mat" }))).toContain("the key is under the mat");
    expect((await get("nope")).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("nope") as string,
    });
    expect((await ask(door, "prompts/get", { name: "wake-up" })).result).toMatchObject({ resultType: "complete" });
  });
});

test("the HTTP door refuses headers that contradict the message", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using door = await DOORS.HTTP(palace);
  const message = modern("tools/list");
  const wrong = { ...headersOf(message), "mcp-method": "tools/call" };
  const answer = await door.say(message, wrong);
  expect(answer).toMatch(/^400 /);
  expect(messageIn(answer).error).toMatchObject({ code: -32020 });
});

test("a client of an older MCP revision gets the same list of tools before and after its broker is killed", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  await using shim = await palace.shim();
  const before = await shim.request("tools/list", {});
  expect(before).toEqual({ tools: toolsOf("full", "2025-06-18") });
  broker.kill("SIGKILL");
  await exitOf(broker);
  expect(await shim.request("tools/list", {})).toEqual(before);
});

test("without a broker the shim gives the same lists as with a broker, spools writes and refuses reads", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using stream = await DOORS.stream(palace);
  await using alone = await DOORS.stdio(palace, { MEMPALACE_BROKER: "unix:/nowhere/palace.sock" });
  for (const method of LISTS) expect(await ask(alone, method), method).toEqual(await ask(stream, method));
  const kept = await call(alone, "add_drawer", { wing: "w", room: "r", content: "kept for later" });
  expect(kept.result).toMatchObject({ resultType: "complete", structuredContent: { success: true, spooled: true } });
  for (const refused of [await call(alone, "status"), await ask(alone, "resources/read", { uri: "palace://wake-up" })])
    expect(refused.error?.code).toBe(-32000);
  const unspoken = { ...ENVELOPE, [VERSION_META]: "2031-01-01" };
  expect((await ask(alone, "server/discover", {}, unspoken)).error).toMatchObject({ code: -32022 });
});

test("a client's name in its requests becomes the author of its writes", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using door = await DOORS.stdio(palace);
  await call(door, "add_drawer", { wing: "w", room: "r", content: "by a modern client" });
  const client = await palace.client();
  const { entries } = await client.call("memory.audit", { limit: 10 });
  client.close();
  expect(entries.map(({ agent }) => agent)).toContain("modern");
});

describe("another MCP server as the broker's child", () => {
  test.each(["stream", "HTTP"] as const)("an older MCP server serves a client of 2026-07-28 over %s", async (name) => {
    await using palace = createSmallPalace();
    await palace.startBroker();
    await palace.report();
    await using door = await DOORS[name](palace);
    const { result } = await ask(door, "server/discover");
    expect(result).toMatchObject({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      instructions: "be small",
    });
    expect(result?.["_meta"]).toEqual({ "io.modelcontextprotocol/serverInfo": { name: "small", version: "1.2.3" } });
    expect((await ask(door, "tools/list")).result).toMatchObject({
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
    });
    const called = await ask(door, "tools/call", { ...callOf("add", { text: "modern" }).params });
    expect(called.result).toMatchObject({ resultType: "complete" });
    expect(palace.calls().some((line) => line.startsWith("add modern"))).toBe(true);
    expect((await ask(door, "resources/list")).error).toBeDefined();
    const unspoken = { ...ENVELOPE, [VERSION_META]: "2031-01-01" };
    expect((await ask(door, "tools/list", {}, unspoken)).error).toMatchObject({ code: -32022 });
  });
});
