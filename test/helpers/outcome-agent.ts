/** Helpers for tests of the outcome memory: a palace with a model, the agent's tools, a client. */
import { join } from "node:path";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { type Client, connectClient } from "../../src/wire/client/client.ts";
import { createTestPalace, type TestPalace } from "./palace.ts";
import { writeTinyModel } from "./tiny-model.ts";

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

export async function ask(agent: StdioMcp, name: string, args: Record<string, unknown>): Promise<string> {
  const result = (await agent.request("tools/call", { name, arguments: args })) as { content: [{ text: string }] };
  return result.content[0].text;
}

/** Returns the ids of the memories in a text, in the text's order. */
export function idsIn(text: string): string[] {
  return [...text.matchAll(/\[id:(\w+)\]/g)].map(([, id]) => id ?? "");
}
