import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { CHUNKS, fillLedger } from "../../bench/fill-ledger.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const DOCUMENTS = 200;

it("a backup made under load restores 8,000 drawers into the ledger and into MemPalace's palace", async () => {
  await using palace = createTestPalace();
  const { ledgerFile, palaceDir, home } = palace.config.paths;
  mkdirSync(dirname(ledgerFile), { recursive: true });
  const text = (characters: number): string => "lorem ipsum dolor sit amet ".repeat(Math.ceil(characters / 27));
  const drawers = fillLedger({ ledgerFile, model: "test", text, from: 0, to: DOCUMENTS });
  expect(drawers).toBeGreaterThanOrEqual(DOCUMENTS * CHUNKS * 0.9);
  await palace.startBroker();
  const client = await palace.client();
  const file = join(palace.home, "b.tar");
  let isOver = false;
  let written = 0;
  const load = (async () => {
    while (!isOver) {
      await client.callTool("mempalace_add_drawer", { wing: "load", room: "r", content: `write ${written}` });
      written += 1;
    }
  })();
  const made = await palace.run("palace", ["backup", file, "--json"]);
  isOver = true;
  await load;
  client.close();
  const { counts } = JSON.parse(made.stdout) as { counts: { drawers: number } };
  expect(counts.drawers).toBeGreaterThanOrEqual(drawers);
  expect(written).toBeGreaterThan(0);
  const before = digest(ledgerFile, counts.drawers);

  await palace.run("palace", ["stop"]);
  rmSync(home, { recursive: true });
  expect(await palace.run("palace", ["restore", file])).toMatchObject({ code: 0 });
  expect(digest(ledgerFile, counts.drawers)).toEqual(before);
  await palace.run("palace", ["start"]);
  const publicRows = (): string[] => {
    if (!existsSync(join(palaceDir, "chroma.sqlite3"))) return [];
    const chroma = new Database(join(palaceDir, "chroma.sqlite3"), { readonly: true });
    try {
      return chroma.prepare<[], string>("SELECT embedding_id FROM embeddings ORDER BY embedding_id").pluck().all();
    } catch {
      return [];
    } finally {
      chroma.close();
    }
  };
  await expect.poll(() => publicRows().length, { interval: 500 }).toBe(drawers);
  expect(publicRows()).toEqual(embedded(ledgerFile));
});

function digest(file: string, drawers: number): { rows: number; sha256: string } {
  const ledger = new Database(file, { readonly: true });
  try {
    const sum = createHash("sha256");
    const rows = ledger
      .prepare<[number], { id: string; text: string; metadata: string; vector: Buffer | null }>(
        "SELECT d.id, d.text, d.metadata, v.vector FROM drawer d LEFT JOIN vector v ON v.row = d.row ORDER BY d.row LIMIT ?",
      )
      .all(drawers);
    for (const { id, text, metadata, vector } of rows) sum.update(`${id}\n${text}\n${metadata}\n`).update(vector ?? "");
    return { rows: rows.length, sha256: sum.digest("hex") };
  } finally {
    ledger.close();
  }
}

function embedded(file: string): string[] {
  const ledger = new Database(file, { readonly: true });
  try {
    return ledger
      .prepare<[], string>("SELECT d.id FROM drawer d JOIN vector v ON v.row = d.row ORDER BY d.id")
      .pluck()
      .all();
  } finally {
    ledger.close();
  }
}
