import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

type Explained = {
  score: number;
  explain: {
    mode: string;
    cosine: number;
    static_cosine: number;
    bm25: { share_of_best: number };
    weights: { cosine: number; words: number };
    promoted: { factor: number }[];
    demoted: { factor: number }[];
  };
};

test("an explained score is the weighted sum of cosine and words times the factors, and `palace search --explain` prints it as text", async () => {
  await using palace = createTestPalace();
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
  const client = await palace.client();
  const notes = ["The heron stands in the reeds at dawn.", "Alice works at Acme.", "A kingfisher dived at noon."];
  for (const content of notes) await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content });
  const fact = { subject: "Alice", predicate: "works at", object: "Acme" };
  await client.callTool("mempalace_kg_add", fact);
  await client.callTool("mempalace_kg_invalidate", { ...fact, ended: "2024-03-01" });
  await expect
    .poll(
      async () => {
        const { search } = await client.call("palace.status", {});
        return [search.modelState, search.pending];
      },
      { timeout: 30_000 },
    )
    .toEqual(["ready", 0]);

  // Searches until all three notes are found: under load the question's vector may be late, and the search then misses notes.
  let results: Explained[] = [];
  const count = async (): Promise<number> => {
    const answer = await client.callTool("mempalace_search", { query: "does Alice work", explain: true });
    ({ results } = answer as { results: Explained[] });
    return results.length;
  };
  await expect.poll(count).toBe(3);
  for (const { score, explain } of results) {
    expect(explain).toMatchObject({ mode: "hybrid", weights: { cosine: 0.36, meaning: 0.28, words: 0.36 } });
    const factor = [...explain.promoted, ...explain.demoted].reduce((product, one) => product * one.factor, 1);
    const near = 0.36 * explain.cosine + 0.28 * explain.static_cosine;
    expect(score).toBeCloseTo(factor * (near + 0.36 * explain.bm25.share_of_best), 3);
  }
  client.close();

  const told = await palace.run("palace", ["search", "does", "Alice", "work", "--explain"]);
  expect(told.stdout).toContain("demoted × 0.6: states a fact that ended on 2024-03-01: Alice → works_at → Acme");
  expect(told.stdout).toMatch(
    /score [\d.]+ = 0\.36 × cosine [\d.-]+ \+ 0\.28 × static cosine [\d.-]+ \+ 0\.36 × [\d.]+ of the best/,
  );
  expect(told.stdout).toContain("outdated (Alice → works_at → Acme ended 2024-03-01)");
  const weak = await palace.run("palace", ["search", "zymurgy", "quux"]);
  expect(weak.stderr).toContain("Weak match");

  // Simulates embedding in progress: the broker does not notice rows that another process adds to its backlog.
  const ledger = new Database(palace.config.paths.ledgerFile);
  ledger.exec("INSERT INTO pending_embedding SELECT row FROM drawer LIMIT 2");
  ledger.close();
  await expect
    .poll(async () => (await palace.run("palace", ["search", "Alice"])).stdout)
    .toMatch(/\tby meaning, 0\.\d\d, and by words/);
  const half = await palace.run("palace", ["search", "Alice"]);
  expect(half.stderr).toMatch(/2 of \d+ drawers wait for the model's vectors/);
  const { stdout } = await palace.run("palace", ["status"]);
  expect(stdout).toMatch(/^search\s.*, 2 of 3 still to embed, about \d+ m?s more$/m);
});
