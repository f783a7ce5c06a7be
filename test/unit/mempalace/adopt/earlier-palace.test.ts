/** Tests a switch from MemPalace's files to a Chroma server and back. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { openForReading } from "../../../../src/memory/ledger/open.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { PalaceWriter } from "../../../../src/mempalace/driver/files/palace-writer.ts";
import { comparePalace } from "../../../../src/mempalace/reconcile/compare.ts";

let folder: string;
let writer: LedgerWriter;
let reader: SqliteLedgerReader;
let palace: PalaceWriter;
let files: string;
const ledgerFile = (): string => join(folder, "ledger.sqlite3");
const palaceDir = (): string => join(folder, "palace");
const SERVER = "http://127.0.0.1:8000/t/d/c#server";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "earlier-"));
  writer = new LedgerWriter(ledgerFile(), applyWrite);
  reader = new SqliteLedgerReader(ledgerFile());
  palace = new PalaceWriter(palaceDir());
  palace.create();
  files = `file:${palaceDir()}#${palace.collectionId}`;
});
afterEach(() => {
  palace.close();
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

let keys = 0;
function write(method: string, params: Record<string, unknown>): { drawer_id?: string } {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++keys}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: 1 };
  const [done] = writer.commit([call]).outcomes;
  expect(done?.outcome).toMatchObject({ ok: true });
  return done?.outcome.ok === true ? (done.outcome.value as { drawer_id?: string }) : {};
}

function add(content: string): string {
  const { drawer_id: id = "" } = write("add_drawer", { wing: "w", room: "r", content });
  const vector = new Float32Array([1, 0]);
  writer.storeVectors(
    reader.pendingTexts(0, 10).map(({ row, textVersion }) => ({ row, textVersion, vector })),
    "model",
  );
  return id;
}

/** Sends all unsent changes to the palace `target`, as the broker's outbox does. */
function sendTo(target: string): void {
  while (writer.outbox.retarget(target));
  const entries = reader.outbox.entries(100);
  if (target === files) {
    palace.upsert(entries.flatMap(({ record }) => record ?? []));
    palace.remove(entries.flatMap(({ id, record }) => (record === null ? [id] : [])));
  }
  writer.outbox.done(entries);
}

function isForeign(): boolean | undefined {
  const ledger = openForReading(ledgerFile());
  const { collectionId } = palace;
  const horizon = { sinceSeq: 0, untilSeq: 0 };
  try {
    const input = { palaceDir: palaceDir(), ours: collectionId, sinceSeq: 0, adopt: collectionId, horizon };
    return comparePalace(input, ledger)?.isForeign;
  } finally {
    ledger.close();
  }
}

const idsIn = (): string[] | undefined =>
  palace.read((database) => database.prepare<[], string>("SELECT embedding_id FROM embeddings").pluck().all());

test("a note that was deleted while a Chroma server was in use does not come back from the old files", () => {
  const [kept, deleted] = [add("the quarry opens at seven"), add("the old password of the quarry")];
  sendTo(files);
  expect(idsIn()).toHaveLength(2);
  sendTo(SERVER);
  write("delete_drawer", { drawer_id: deleted });
  sendTo(SERVER);

  // The old files still have the deleted note. It must not look like a foreign row, even before the removal is sent to these files.
  expect(isForeign()).toBe(false);
  sendTo(files);
  expect(isForeign()).toBe(false);
  expect(idsIn()).toEqual([kept]);
});

test("a row that another program files under a deleted note's id counts as foreign", () => {
  const id = add("the quarry opens at seven");
  sendTo(files);
  sendTo(SERVER);
  write("delete_drawer", { drawer_id: id });
  sendTo(SERVER);
  sendTo(files);
  expect(idsIn()).toEqual([]);
  palace.upsert([
    { id, text: "the quarry opens at seven", metadata: { wing: "w", room: "r" }, vector: new Float32Array([1, 0]) },
  ]);
  expect(isForeign()).toBe(true);
});
