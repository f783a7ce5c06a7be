/** Makes the files of MemPalace 3.12 by hand, because that version cannot be installed yet. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const hallway = (name: string): Record<string, unknown> => ({
  ...{ id: `hallway_w_${name}`, wing: "w", entity_a: "A", entity_b: name, co_occurrence_count: 3 },
});

/** Waits until the broker has written all rows to MemPalace's graph files. */
async function sent(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  await expect
    .poll(async () => (await client.call("palace.status", {})).graph, { timeout: 60_000 })
    .toMatchObject({ state: "synced", lag: 0, detail: "" });
  client.close();
}

async function idsOf(palace: TestPalace): Promise<unknown[]> {
  const client = await palace.client();
  const answer = (await client.callTool("mempalace_list_hallways", {})) as { hallways: { id: string }[] };
  client.close();
  return answer.hallways.map(({ id }) => id);
}

test(
  "the broker does not write hallways.json if MemPalace keeps its hallways in a database",
  { timeout: 180_000 },
  async () => {
    await using palace = createTestPalace();
    const { hallwaysFile } = palace.config.paths;
    const database = hallwaysFile.replace(/json$/, "sqlite3");
    mkdirSync(dirname(hallwaysFile), { recursive: true });
    writeFileSync(hallwaysFile, JSON.stringify({ schema_version: 1, hallways: [hallway("B"), hallway("C")] }));
    await palace.startBroker();
    await expect.poll(() => idsOf(palace), { timeout: 60_000 }).toHaveLength(2);
    await sent(palace);

    // Makes the database and renames the JSON file, as MemPalace 3.12 does at its first write of a hallway.
    const made = new Database(database);
    made.exec("CREATE TABLE hallways (id TEXT PRIMARY KEY, record TEXT)");
    made.close();
    renameSync(hallwaysFile, `${hallwaysFile}.imported-20261127`);
    const bytes = readFileSync(database);

    const client = await palace.client();
    expect(await client.callTool("mempalace_delete_hallway", { hallway_id: "hallway_w_B" })).toEqual({ deleted: true });
    client.close();
    await sent(palace);
    expect(await idsOf(palace)).toEqual(["hallway_w_C"]);
    expect(existsSync(hallwaysFile)).toBe(false);
    for (const verb of ["status", "doctor"])
      expect((await palace.run("palace", [verb])).stdout.replaceAll(/\s+/g, " ")).toContain(
        "MemPalace 3.12 or later keeps its hallways in",
      );

    await palace.run("palace", ["stop"]);
    await palace.run("palace", ["start"]);
    await sent(palace);
    expect([existsSync(hallwaysFile), readFileSync(database).equals(bytes)]).toEqual([false, true]);

    // Removes the database, as a user does who goes back to an older MemPalace.
    rmSync(database);
    await expect.poll(() => existsSync(hallwaysFile), { timeout: 60_000 }).toBe(true);
    await sent(palace);
    expect(JSON.parse(readFileSync(hallwaysFile, "utf8"))).toEqual({ schema_version: 1, hallways: [hallway("C")] });
  },
);
