/** What a compaction drops from an agent's context, in the loop of memory that learns from outcomes (outcome-memory.md 7.6). */
import { expect, test } from "vitest";
import type { Methods } from "../../../src/protocol/spec.ts";
import { agentOf, ask, clientOf, idsIn, palaceWithModel } from "../../helpers/outcome-agent.ts";

type Told = Methods["turn.begin"]["result"];

test("what was shown before a compaction is shown again in whichever turn it fits, and still counts for the turn before", async () => {
  await using palace = await palaceWithModel();
  await using agent = await agentOf(palace);
  const client = await clientOf(palace);
  for (const fact of ["The boiler wants two bar", "Trams run until one"])
    await ask(agent, "record_response", { key_takeaway: fact });
  const say = async (prompt: string, more: object = {}): Promise<Told> =>
    client.call("turn.begin", { conversation: "c", prompt, ...more });
  const shown = async (prompt: string, more: object = {}): Promise<string> => (await say(prompt, more)).context;
  expect(await shown("boiler bar?")).toContain("two bar");
  await shown("trams run until?");
  await client.call("turn.end", { conversation: "c", user: "trams?", assistant: "one" });
  const fresh = await say("boiler bar?", { isFresh: true });
  expect(fresh.context).toContain("two bar");
  expect(fresh.scoring).toContain('The user asked: "trams?"');
  expect(await shown("trams run until?")).toContain("until one");
  expect(await shown("boiler bar, trams run?")).toBe("");
  client.close();
});

test("what was shown in the turn before a compaction is asked about after it, and shown in a later one", async () => {
  await using palace = await palaceWithModel();
  await using agent = await agentOf(palace);
  const client = await clientOf(palace);
  await ask(agent, "record_response", { key_takeaway: "The boiler wants two bar" });
  const conversation = "e";
  const say = (more: object = {}): Promise<Told> =>
    client.call("turn.begin", { conversation, prompt: "boiler bar?", ...more });
  const [id = expect.fail()] = idsIn((await say()).context);
  await client.call("turn.end", { conversation, user: "boiler bar?", assistant: "two" });
  const { context, scoring } = await say({ isFresh: true });
  expect([context, scoring]).toEqual([expect.not.stringContaining("two bar"), expect.stringContaining(`[${id}]`)]);
  const { memories } = await client.call("turn.owed", { conversation, reply: "thanks" });
  expect(memories.map((one) => one.id)).toEqual([id]);
  expect((await say()).context).toContain("two bar");
  client.close();
});
