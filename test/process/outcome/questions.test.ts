import { expect, test } from "vitest";
import type { MemoryFields } from "../../../src/protocol/outcome.ts";
import { clientOf, palaceWithModel } from "../../helpers/outcome-agent.ts";

const ASKED = "Why does the zeppelin pipeline time out?";
const AGAIN = "Does the zeppelin pipeline time out?";

test("a memory found useful for a question three times is a known solution; a partly useful memory is not", async () => {
  await using palace = await palaceWithModel();
  const client = await clientOf(palace, "ada");
  const { id: good } = await client.call("outcome.record", {
    key_takeaway: "The zeppelin pipeline wants a longer timeout",
  });
  const { id: other } = await client.call("outcome.record", {
    key_takeaway: "The zeppelin pipeline wants more memory",
  });
  const find = async (query: string): Promise<MemoryFields[]> =>
    (await client.call("outcome.search", { query })).memories;
  const digits = (id: string): string => id.slice(-8);
  expect(await find("Where is the bread?"), "none").toSatisfy((all: MemoryFields[]) =>
    all.every((one) => !("is_known_solution" in one) && !("is_partial_solution" in one)),
  );
  for (let times = 0; times < 3; times++) {
    expect((await find(ASKED)).map(({ id }) => digits(id))).toContain(digits(good));
    await client.call("outcome.score", { outcome: "unknown", memory_scores: { [good]: "worked", [other]: "partial" } });
  }
  const [first, second] = await find(ASKED);
  expect(first).toMatchObject({ collection: "history", is_known_solution: true, solution_success_count: 3 });
  expect(digits(first?.id ?? "")).toBe(digits(good));
  expect(second).not.toHaveProperty("is_known_solution");
  const [alike] = await find(AGAIN);
  expect(digits(alike?.id ?? "")).toBe(digits(good));
  const why = await palace.run("palace", ["outcome", "why", good]);
  expect(why.stdout, why.stderr).toMatch(/^questions\s+solved 1 of 1$/m);
  expect(why.stdout).toMatch(/^general talk\s+as working: 2 worked, 0 failed, 0 partial$/m);

  await palace.run("palace", ["undo", "--client", "ada", "--since", "1h", "--yes"]);
  expect((await client.call("outcome.why", { id: good })).found).toBe(false);
  client.close();
});

test("a turn shows how effective a collection was for similar questions; an outcome counts for the question that the memory was shown for", async () => {
  await using palace = await palaceWithModel();
  const client = await clientOf(palace, "ada");
  const { id } = await client.call("outcome.record", { key_takeaway: "The zeppelin pipeline wants a longer timeout" });
  for (const [at, outcome] of ["worked", "worked", "failed", "worked", "partial", "worked"].entries()) {
    const conversation = `talk ${at}`;
    await client.call("turn.begin", { conversation, prompt: ASKED });
    await client.call("turn.end", { conversation, user: ASKED, assistant: `Answer ${at}: wait.` });
    await client.call("turn.begin", { conversation, prompt: "thanks, and now something else" });
    await client.call("outcome.score", { conversation, outcome: "unknown", memory_scores: { [id]: outcome } });
  }
  const why = await client.call("outcome.why", { id });
  expect(why).toMatchObject({
    questions: { asked: 1, answers: [{ collection: "working" }, { collection: "history" }] },
  });
  const { context, fields } = await client.call("turn.begin", {
    ...{ conversation: "another", prompt: ASKED, isDetailed: true },
  });
  // Two and a half of the four outcomes in `history` are good (`partial` counts half). `working` has two outcomes, too few to show.
  expect(context).toMatch(/wants a longer timeout \[id:\w+\] \(now, 62% effective, history\)/);
  const told = fields?.memories.map(({ collection, effectiveness }) => [collection, effectiveness]) ?? [];
  expect(new Set(told.map((one) => JSON.stringify(one)))).toContain('["history",0.625]');
  for (const [collection, effectiveness] of told) if (collection === "working") expect(effectiveness).toBeUndefined();
  client.close();
});

test("a search for a question of a megabyte is answered, and a later score of a memory counts", async () => {
  await using palace = await palaceWithModel();
  const client = await clientOf(palace, "ada");
  const { id } = await client.call("outcome.record", { key_takeaway: "word7 helps" });
  const query = Array.from({ length: 130_000 }, (_, at) => `word${at}`).join(" ");
  await client.callTool("search_memory", { query });
  await client.call("outcome.score", { outcome: "unknown", memory_scores: { [id]: "worked" } });
  expect(await client.call("outcome.why", { id })).toMatchObject({ uses: 1 });
  client.close();
});
