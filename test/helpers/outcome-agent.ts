/** Agents and programs of memory that learns from outcomes, in tests: a palace with a model, the agent's tools, a client. */
import { join } from "node:path";
import type { StdioMcp } from "../../src/cli/proof/stdio-mcp.ts";
import { type Client, connectClient } from "../../src/wire/client/client.ts";
import { createTestPalace, type TestPalace } from "./palace.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** With a running broker. */
export async function palaceWithModel(): Promise<TestPalace> {
  const palace = createTestPalace();
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) });
  return palace;
}

export function agentOf(palace: TestPalace, name = "claude-code"): Promise<StdioMcp> {
  return palace.shim({ MEMPALACE_TOOLS: "outcome", MEMPALACE_AGENT_NAME: name });
}

export function clientOf(palace: TestPalace, agent = "claude-code"): Promise<Client> {
  return connectClient({ config: palace.config, agent, start: "auto" });
}

/** The words that a tool answers. */
export async function ask(agent: StdioMcp, name: string, args: Record<string, unknown>): Promise<string> {
  const result = (await agent.request("tools/call", { name, arguments: args })) as { content: [{ text: string }] };
  return result.content[0].text;
}

/** Of memories, in the order of a text that shows them. */
export function idsIn(text: string): string[] {
  return [...text.matchAll(/\[id:(\w+)\]/g)].map(([, id]) => id ?? "");
}
