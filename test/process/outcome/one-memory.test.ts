import { join } from "node:path";
import { expect, test } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

type Hit = {
  drawer_id: string;
  score: number;
  explain: { promoted: { reason: string }[]; demoted: { reason: string }[] };
};

async function ask(agent: StdioMcp, name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = (await agent.request("tools/call", { name, arguments: args })) as { content: [{ text: string }] };
  return content[0].text;
}

const score = (agent: StdioMcp, id: string, outcome: string): Promise<string> =>
  ask(agent, "score_memories", { outcome, memory_scores: { [id]: outcome } });

/** Returns the last word of each memory in an answer, in the answer's order. The tests' memories differ only in that word. */
const wordsIn = (text: string): string[] =>
  [...text.matchAll(/\[id:[^\]]+\] .*?(\w+)$/gm)].map(([, word]) => word ?? "");

test("a useful drawer ranks before an equal drawer, a misleading drawer ranks after it, and the search explains why", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using agent = await palace.shim();
  const filed: string[] = [];
  for (const word of ["alpha", "beta", "gamma"]) {
    const content = `The parser of the shop fails on empty carts, says the note ${word}`;
    filed.push(
      String((await agent.call("mempalace_add_drawer", { wing: "shop", room: "notes", content }))["drawer_id"]),
    );
  }
  const search = async (): Promise<Hit[]> =>
    (await agent.call("mempalace_search", { query: "parser empty carts", explain: true }))["results"] as Hit[];
  const ids = (hits: Hit[]): string[] => hits.map(({ drawer_id: id }) => id);
  const [first = "", second = "", third = ""] = ids(await search());
  expect([first, second, third].toSorted()).toEqual(filed.toSorted());
  await score(agent, third, "worked");
  await score(agent, first, "failed");
  const after = await search();
  expect(ids(after)).toEqual([third, second, first]);
  expect(after[0]?.explain.promoted.map(({ reason }) => reason)).toEqual(["has helped in 1 of 1 uses"]);
  expect(after[1]?.explain).toMatchObject({ promoted: [], demoted: [] });
  expect(after[2]?.explain.demoted.map(({ reason }) => reason)).toEqual(["has helped in 0 of 1 uses"]);
  const fallen = after[2]?.score ?? 0;
  for (let again = 0; again < 5; again++) await score(agent, first, "failed");
  expect((await search())[2]?.score, "it fades further with each failure").toBeLessThan(fallen);
});

test("a fact without a score is neither promoted nor demoted, and a misleading fact gets a lower search score", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using agent = await palace.shim();
  await ask(agent, "add_to_memory_bank", { content: "The user likes purple tea kettles" });
  const search = async (): Promise<Hit | undefined> =>
    ((await agent.call("mempalace_search", { query: "purple kettles", explain: true }))["results"] as Hit[])[0];
  const before = await search();
  expect(before?.explain).toMatchObject({ promoted: [], demoted: [] });
  await score(agent, before?.drawer_id ?? "", "failed");
  expect((await search())?.score).toBeLessThan(before?.score ?? 0);
});

test("a memory that states an ended fact ranks after a memory that does not, and `outcome why` shows the ended fact", async () => {
  await using palace = createTestPalace();
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) });
  await using agent = await palace.shim();
  await ask(agent, "record_response", { key_takeaway: "The staging cluster of Billing runs in Frankfurt" });
  await ask(agent, "record_response", { key_takeaway: "The staging cluster of Billing runs in Hamburg" });
  const order = async (): Promise<string[]> =>
    wordsIn(await ask(agent, "search_memory", { query: "staging cluster of Billing runs in Frankfurt", limit: 2 }));
  expect(await order()).toEqual(["Frankfurt", "Hamburg"]);
  const fact = { subject: "Billing", predicate: "runs in", object: "Frankfurt" };
  await agent.call("mempalace_kg_add", fact);
  expect(await order(), "the fact still holds").toEqual(["Frankfurt", "Hamburg"]);
  await agent.call("mempalace_kg_invalidate", { ...fact, ended: "2026-01-31" });
  expect(await order()).toEqual(["Hamburg", "Frankfurt"]);
  const [, id = ""] =
    /\[id:([^\]]+)\] .*Frankfurt/.exec(await ask(agent, "search_memory", { query: "Frankfurt" })) ?? [];
  const { stdout } = await palace.run("palace", ["outcome", "why", id]);
  expect(stdout).toMatch(/outdated\s+Billing → runs[ _]in → Frankfurt, ended 2026-01-31/);
});
