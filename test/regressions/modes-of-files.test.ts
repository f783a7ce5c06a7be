/** A palace may be in a folder that others can read. Everybody could then read its ledger, and a repair made a private palace readable. */
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openForWriting } from "../../src/memory/ledger/open.ts";
import { PalaceWriter } from "../../src/mempalace/driver/files/palace-writer.ts";
import { chromaFile, DRAWERS } from "../../src/mempalace/format/chroma-file.ts";
import { draftFolder, swapIn } from "../../src/mempalace/rebuild/swap.ts";

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

test("only the owner can read the ledger and its -wal and -shm files, and a rebuilt palace keeps its file modes", () => {
  const folder = mkdtempSync(join(tmpdir(), "modes-"));
  try {
    chmodSync(folder, 0o755);
    const ledger = openForWriting(join(folder, "ledger.sqlite3"));
    expect(["", "-wal", "-shm"].map((suffix) => modeOf(join(folder, `ledger.sqlite3${suffix}`)))).toEqual(
      Array.from({ length: 3 }, () => "600"),
    );
    ledger.close();

    const make = (place: string): void => {
      const writer = new PalaceWriter(place, DRAWERS);
      // Files a drawer, because `swapIn` keeps no copy of an empty palace.
      writer.upsert([{ id: "d", text: "t", metadata: { wing: "w" }, vector: Float32Array.of(1, 0) }]);
      writer.close();
    };
    make(folder);
    chmodSync(chromaFile(folder), 0o640);
    const draft = draftFolder(folder, "tag");
    make(draft);
    const kept = swapIn(folder, draft, "repair") ?? "";
    expect([modeOf(chromaFile(folder)), modeOf(chromaFile(kept))]).toEqual(["640", "640"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
