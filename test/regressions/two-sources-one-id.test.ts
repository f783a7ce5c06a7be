/** In a palace of 3.3.6, part 1 of `notes1` has the id of part 11 of `notes`. Filing the second source failed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { Drawer } from "../../src/memory/port/drawer.ts";

it("two sources with colliding part ids both stay whole and are replaced separately", () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  const reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
  writer.putMeta("id_recipe", "bare");
  let count = 0;
  const file = (sourceFile: string, word: string): unknown => {
    const content = Array.from({ length: 14 }, (_, n) => `${word} ${n}. ${`${word} words. `.repeat(70)}`).join("\n\n");
    const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
    const params = { wing: "w", room: "r", sourceFile, content, sha256: word, mtime: 1 };
    const key = `k${++count}`;
    const call = { key, isRepeatable: true, method: "source.replace", params, peer, requestId: "r", atMs: Date.now() };
    return writer.commit([call]).outcomes[0]?.outcome;
  };
  const drawersOf = (sourceFile: string): Drawer[] =>
    reader.listDrawers({ sourceFile }, 100, 0).drawers.filter(({ metadata }) => metadata["source_file"] === sourceFile);
  try {
    expect(file("notes", "first")).toMatchObject({ ok: true });
    const before = drawersOf("notes");
    expect(before.length).toBeGreaterThan(12);
    for (const word of ["second", "again"]) {
      expect(file("notes1", word)).toMatchObject({ ok: true });
      expect(drawersOf("notes")).toEqual(before);
      expect(drawersOf("notes1").map(({ metadata }) => metadata["chunk_index"])).toEqual(
        before.map(({ metadata }) => metadata["chunk_index"]),
      );
      expect(drawersOf("notes1").every(({ text }) => text.includes(word))).toBe(true);
    }
    // Only parts whose ids collide get another id recipe, which their metadata names.
    const others = drawersOf("notes1").filter(({ metadata }) => metadata["id_recipe"] === "v3");
    expect(others.map(({ metadata }) => metadata["chunk_index"])).toEqual(
      Array.from({ length: Math.min(10, before.length - 10) }, (_, n) => n),
    );
  } finally {
    reader.close();
    writer.close();
    rmSync(folder, { recursive: true });
  }
});
