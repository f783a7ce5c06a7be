/**
 * Compares what clients of the four older MCP revisions get with the bytes recorded before the broker spoke 2026-07-28. Only the tool list
 * may have more fields, and the wording of its descriptions may differ.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MCP_VERSIONS } from "../../../src/protocol/version.ts";
import { VERSION } from "../../../src/base/version.ts";
import { DOOR_NAMES, type DoorName, DOORS, type Message, messageIn } from "../../helpers/mcp-doors.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

type Listed = { name: string; title?: string; annotations?: Record<string, boolean> };

const call = (name: string, values?: object): Message => ({
  method: "tools/call",
  params: { name: `mempalace_${name}`, ...(values !== undefined && { arguments: values }) },
});
const CONVERSATION: readonly Message[] = [
  call("kg_stats"),
  call("list_drawers", { limit: 2 }),
  call("get_drawer", { drawer_id: "nope" }),
  call("add_drawer", { wing: "../etc", room: "r", content: "x" }),
  call("nope"),
  call("status", { bogus: 1 }),
  { method: "tools/call", params: {} },
  { method: "ping" },
  { method: "resources/list" },
  { method: "prompts/list", params: {} },
  { method: "server/discover" },
  { method: "server/discover", params: { protocolVersion: "2026-07-28" } },
];

const fixture = (name: string): string =>
  readFileSync(new URL(`../../fixtures/mcp-older-${name}`, import.meta.url), "utf8");

async function hear(palace: TestPalace, door: DoorName, revision: string): Promise<{ tools: Listed[]; bytes: string }> {
  await using raw = await DOORS[door](palace);
  // Revisions before 2025-06-18 have no such header.
  const headers = revision < "2025-06-18" ? undefined : { "mcp-protocol-version": revision };
  const clientInfo = { name: "older", version: "1" };
  const params = { protocolVersion: revision, capabilities: {}, clientInfo };
  const heard = [await raw.say({ id: 1, method: "initialize", params })];
  for (const [index, message] of CONVERSATION.entries())
    heard.push(await raw.say({ id: index + 2, ...message }, headers));
  const listed = await raw.say({ id: 99, method: "tools/list" }, headers);
  const tools = messageIn(listed).result?.["tools"] as Listed[];
  // The list of tools has its own fixture, so only the rest of this answer is compared byte by byte.
  const around = listed.replace(JSON.stringify(tools), "[…]");
  return {
    tools,
    bytes: [...heard, around].join("\n").replaceAll(VERSION, "VERSION").replaceAll(revision, "REVISION"),
  };
}

const unworded = (tools: readonly object[]): string =>
  JSON.stringify(tools, (key, value: unknown) => (key === "description" && typeof value === "string" ? "…" : value));

const bare = ({ title: _title, annotations: _annotations, ...tool }: Listed): object => tool;

describe.each(DOOR_NAMES)("older MCP revisions over %s", (door) => {
  let palace: TestPalace;
  beforeAll(async () => void (await (palace = createTestPalace()).startBroker()));
  afterAll(() => palace[Symbol.asyncDispose]());

  test.each(MCP_VERSIONS)("a client of %s gets the recorded bytes", async (revision) => {
    const { tools, bytes } = await hear(palace, door, revision);
    expect(bytes).toBe(fixture(door === "HTTP" ? "http.txt" : "stream.txt"));
    const recorded = JSON.parse(fixture("tools.json")) as Listed[];
    if (revision === "2024-11-05") expect(unworded(tools)).toBe(unworded(recorded));
    expect(unworded(tools.map(bare))).toBe(unworded(recorded.map(bare)));
  });
});
