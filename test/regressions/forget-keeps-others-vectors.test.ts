/** Forgetting a text wiped the vectors of other drawers in the same journal row, so MemPalace's search never found them again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { erasePalace } from "../../src/mempalace/erase/palace-bytes.ts";
import { openSegment } from "../../src/mempalace/format/segment.ts";
import { ChromaPalace } from "../helpers/chroma-palace.ts";
import { writeSegment } from "../helpers/hnsw-segment.ts";

test("forget wipes the old vectors of deleted and re-embedded drawers and keeps all others", () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-forget-"));
  try {
    const palace = new ChromaPalace(folder);
    const ids = ["stays", "gone", "changed"];
    const vector = Float32Array.of(0.6, 0.8, 0);
    palace.upsert(ids.map((id) => ({ id, text: `text of ${id}`, metadata: {}, vector })));
    writeSegment(
      join(folder, palace.vectorSegment),
      ids.map((id) => ({ id, vector })),
    );
    const database = new Database(join(folder, "chroma.sqlite3"));
    database.exec(`INSERT OR REPLACE INTO max_seq_id VALUES ('${palace.vectorSegment}', 3)`);
    // Deletes one drawer's row, and queues a newer vector for another drawer.
    palace.remove(["gone"]);
    database
      .prepare("INSERT INTO embeddings_queue (operation, topic, id, vector, encoding) VALUES (2, ?, ?, ?, 'FLOAT32')")
      .run(`persistent://default/default/${palace.collectionId}`, "changed", Buffer.alloc(12, 1));
    database.close();
    palace.close();

    erasePalace(folder, ids);
    const segment = openSegment(join(folder, palace.vectorSegment));
    if (segment.state !== "whole") throw new Error(segment.state);
    const isErased = (id: string): boolean | undefined => segment.vector(id)?.every((number) => number === 0);
    expect(Object.fromEntries(ids.map((id) => [id, isErased(id)]))).toEqual({
      stays: false,
      gone: true,
      changed: true,
    });
    segment.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
