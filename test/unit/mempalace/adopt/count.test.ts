import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { createLog } from "../../../../src/base/log.ts";
import { type AdoptionProgress, createAdopter } from "../../../../src/mempalace/adopt/adoption.ts";
import { openChroma, readCollections, readHead } from "../../../../src/mempalace/format/chroma-file.ts";
import { ChromaPalace } from "../../../helpers/chroma-palace.ts";

let folder: string;
let palaceDir: string;
let palace: ChromaPalace;
let writer: LedgerWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palace-count-"));
  palaceDir = join(folder, "palace");
  mkdirSync(palaceDir);
  palace = new ChromaPalace(palaceDir);
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
});
afterEach(() => {
  palace.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

const write = (id: string, text: string): void =>
  palace.upsert([{ id, text, metadata: { wing: "w", room: "r" }, vector: new Float32Array(8).fill(0.3) }]);

/** Adopts the rows after sequence number `sinceSeq`. `taken`: number of adopted rows. `head`: last sequence number that was read. */
async function adopt(sinceSeq: number): Promise<{ taken: number; last: AdoptionProgress | undefined; head: number }> {
  const database = openChroma(palaceDir, 1_000);
  const collection = database && readCollections(database)[0];
  if (database === undefined || collection === undefined) throw new Error("no palace");
  const head = readHead(database);
  database.close();
  let last: AdoptionProgress | undefined;
  const adopter = createAdopter({
    ...{ palaceDir, ledgerFile: join(folder, "ledger.sqlite3") },
    file: (batch) => Promise.resolve(writer.adopt(batch)),
    onFiled: () => Promise.resolve(),
    setRecipe: () => Promise.resolve(),
    modelOf: () => Promise.resolve({ model: "m", width: 8, why: "" }),
    log: createLog(() => {}, "error"),
  });
  const taken = await adopter.run(collection.id, { sinceSeq, untilSeq: head }, (progress) => (last = progress));
  await adopter.stop();
  return { taken, last, head };
}

it("each new, changed or removed row counts once as an adopted row", async () => {
  for (const id of ["a", "b", "c"]) write(id, `text of ${id}`);
  const first = await adopt(0);
  expect(first).toMatchObject({ taken: 3, last: { read: 3, taken: 3 } });
  expect(await adopt(0)).toMatchObject({ taken: 0, last: { read: 3, taken: 0 } });
  write("a", "another text of a");
  write("b", "text of b");
  palace.remove(["c"]);
  write("d", "text of d");
  expect(await adopt(first.head)).toMatchObject({ taken: 3, last: { taken: 3 } });
});
