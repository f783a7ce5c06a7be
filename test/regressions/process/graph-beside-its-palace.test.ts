/** With `--palace` MemPalace writes its facts into the palace's folder, where the broker reads no facts. Doctor did not report them. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { GRAPH_FILE_SCHEMA } from "../../../src/mempalace/graph/database-file.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const BRINGING = /```sh\n(sqlite3 [^]*?)```/.exec(readFileSync("docs/topologies/mempalace-beside.md", "utf8"))?.[1];

function writeGraph(file: string, facts: readonly string[]): void {
  mkdirSync(dirname(file), { recursive: true });
  const database = new Database(file);
  database.exec(GRAPH_FILE_SCHEMA);
  for (const name of ["Alice", ...facts])
    database.prepare("INSERT INTO entities (id, name) VALUES (?, ?)").run(name.toLowerCase(), name);
  for (const name of facts)
    database
      .prepare("INSERT INTO triples (id, subject, predicate, object) VALUES (?, 'alice', 'knows', ?)")
      .run(`t_alice_knows_${name}`, name.toLowerCase());
  database.close();
}

test("doctor reports MemPalace facts in a file that we do not read, until they are imported", async () => {
  await using palace = createTestPalace();
  const { graphFile, palaceDir } = palace.config.paths;
  const other = join(palaceDir, "knowledge_graph.sqlite3");
  const doctor = async (): Promise<{ state: string; detail: string; hint: string } | undefined> => {
    const { stdout } = await palace.run("palace", ["doctor", "--json"]);
    const { checks } = JSON.parse(stdout) as {
      checks: { name: string; state: string; detail: string; hint: string }[];
    };
    return checks.find(({ name }) => name === "graph");
  };
  writeGraph(graphFile, ["Bob"]);
  writeGraph(other, ["Bob", "Carol", "Dave"]);
  const before = readFileSync(other);
  await palace.run("palace", ["start"]);
  expect(await doctor()).toMatchObject({
    state: "warn",
    detail: expect.stringContaining(
      `2 facts of a MemPalace that was started with --palace are in ${other} and not here`,
    ),
    hint: expect.stringContaining("docs/topologies/mempalace-beside.md"),
  });
  expect(readFileSync(other)).toEqual(before);
  // Runs the docs page's command word for word.
  const sql = /"([^]*)"/.exec(BRINGING ?? "")?.[1] ?? "";
  const database = new Database(graphFile);
  database.exec(sql.replace("$HOME/.mempalace/palace/knowledge_graph.sqlite3", other));
  database.close();
  await expect.poll(doctor, { timeout: 20_000 }).toMatchObject({ state: "ok" });
  expect((await palace.run("palace", ["call", "kg_query", '{"entity":"Alice"}'])).stdout).toContain("Dave");
  await palace.run("palace", ["stop"]);
});
