import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

type Run = Awaited<ReturnType<TestPalace["run"]>>;
type Why = { found: boolean; score: number; uses: number; successes: number };

/** Starts the broker, and returns an agent's tools and `palace outcome` as functions. */
async function opened(palace: TestPalace) {
  await palace.startBroker();
  const client = await palace.client();
  const call = (name: string, args: object) => client.callTool(name, args as never);
  const run = (...args: string[]): Promise<Run> => palace.run("palace", ["outcome", ...args]);
  return {
    client,
    run,
    keep: async (takeaway: string): Promise<string> => {
      await call("record_response", { key_takeaway: takeaway });
      const { memories } = await client.call("outcome.search", { query: takeaway, limit: 1 });
      return memories[0]?.id ?? expect.fail(takeaway);
    },
    scored: (id: string, outcome: string) =>
      call("score_memories", { outcome: "unknown", memory_scores: { [id]: outcome } }),
    why: async (id: string): Promise<Why> => (await client.call("outcome.why", { id })) as unknown as Why,
  };
}

/** Runs the undo command in `stdout`, as a shell would. */
async function typed(palace: TestPalace, stdout: string): Promise<Run> {
  const command = /palace history undo .*$/m.exec(stdout)?.[0] ?? expect.fail(stdout);
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, inner, word]) => inner ?? word ?? "");
  return palace.run("palace", words.slice(1));
}

test("a person's scores add up and replace the agents' earlier scores, but a person who agrees with the agents lowers no score", async () => {
  await using palace = createTestPalace();
  const { client, run, keep, scored, why } = await opened(palace);
  const wronged = await keep("The boiler wants two bar");
  await scored(wronged, "failed");
  expect(await run("score", wronged, "worked")).toMatchObject({ code: 0, stdout: `${wronged}: worked\n` });
  expect(await why(wronged)).toMatchObject({ score: 0.7, uses: 1, successes: 1 });
  await run("score", wronged, "worked");
  expect(await why(wronged)).toMatchObject({ score: 0.9, uses: 2, successes: 2 });
  await run("score", wronged, "partial");
  expect(await why(wronged)).toMatchObject({ score: 0.95, uses: 3, successes: 2.5 });

  const praised = await keep("The printer wants a reboot");
  for (let times = 0; times < 3; times++) await scored(praised, "worked");
  await run("score", praised, "worked");
  expect(await why(praised), "an agreeing person lowers no score").toMatchObject({ score: 1, uses: 4, successes: 4 });
  await run("score", praised, "failed");
  expect(await why(praised), "one person's score against three agents' scores").toMatchObject({
    score: 0.4,
    uses: 2,
    successes: 1,
  });
  await scored(praised, "worked");
  expect(await why(praised), "later scores of agents count").toMatchObject({ score: 0.6, uses: 3 });
  client.close();
});

test("`palace outcome score` reports a deletion, and the command that it prints reverts only this write", async () => {
  await using palace = createTestPalace();
  const { client, run, keep, scored, why } = await opened(palace);
  const [bad, other] = [await keep("Restart the router at noon"), await keep("Tea is in the second drawer")];
  await scored(bad, "failed");
  await run("score", other, "worked");
  const gone = await run("score", bad, "failed");
  expect(gone.stdout).toMatch(
    /^\w+: failed; its score is 0\.0, so it was removed\nto restore it: .*palace history undo /,
  );
  expect(await why(bad)).toMatchObject({ found: false });
  await run("score", other, "worked");
  const undone = await typed(palace, gone.stdout);
  expect(undone.code, undone.stderr + undone.stdout).toBe(0);
  expect(await why(bad)).toMatchObject({ score: 0.2, uses: 1 });
  expect(await why(other), "the person's other scores stay").toMatchObject({ score: 0.9, uses: 2 });

  const forgotten = await run("forget", bad);
  expect(forgotten.stdout).toContain(`${bad} was removed: Key takeaway: Restart the router at noon\n`);
  expect(await why(bad)).toMatchObject({ found: false });
  expect((await typed(palace, forgotten.stdout)).code).toBe(0);
  expect(await why(bad)).toMatchObject({ score: 0.2, uses: 1 });
  expect(await run("forget", "working_00000000")).toMatchObject({ code: 4 });
  expect(await run("score", bad, "great")).toMatchObject({ code: 2 });
  expect(await why(bad), "a refused call changes nothing").toMatchObject({ score: 0.2, uses: 1 });
  client.close();
});

test("`palace outcome list` shows the newest or the best memories first, of all collections or of one", async () => {
  await using palace = createTestPalace();
  const { client, run, keep } = await opened(palace);
  const [first, second, third] = [await keep("alpha one"), await keep("beta two"), await keep("gamma three")];
  await run("score", first, "worked");
  await run("score", third, "failed");
  const idsOf = ({ stdout }: Run): string[] => stdout.split("\n").map((line) => line.split("\t")[0] ?? "");
  expect(idsOf(await run("list"))).toEqual([third, second, first, ""]);
  expect(idsOf(await run("list", "working", "--sort", "score"))).toEqual([first, second, third, ""]);
  expect((await run("list")).stdout).toContain("\t0.70\t1 use\t");
  expect((await run("list", "history")).stdout).toBe("No memories in history.\n");
  expect(JSON.parse((await run("list", "--json")).stdout)).toMatchObject({
    total: 3,
    memories: [{ id: third }, {}, {}],
  });
  expect(await run("list", "nowhere")).toMatchObject({ code: 2 });
  expect(await run("list", "--sort", "size")).toMatchObject({ code: 2 });
  expect(await run("stats", "--sort", "score")).toMatchObject({ code: 2 });
  client.close();
});
