/** A drawer without its last slice could not be filed again, and the error rolled back all other writes of the transaction. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { WriteCall } from "../../src/memory/port/ledger.ts";

const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
let count = 0;
const call = (method: string, params: Record<string, unknown>, key = `k${++count}`): WriteCall => {
  return { key, isRepeatable: true, method, params, peer, requestId: "r", atMs: Date.now() };
};

function openLedger(): { writer: LedgerWriter } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  const dispose = (): void => {
    writer.close();
    rmSync(folder, { recursive: true });
  };
  return { writer, [Symbol.dispose]: dispose };
}

const long = { wing: "w", room: "r", content: "abc ".repeat(500) };

it("a drawer with a missing slice can be filed again, and another write of the same transaction succeeds", () => {
  using ledger = openLedger();
  const { writer } = ledger;
  const [first] = writer.commit([call("add_drawer", long)]).outcomes;
  const { chunk_ids: slices } = (first?.outcome as { value: { chunk_ids: string[] } }).value;
  writer.commit([call("delete_drawer", { drawer_id: slices[2] })]);
  const { outcomes } = writer.commit([
    call("add_drawer", { ...long, content: "a neighbour" }),
    call("add_drawer", long),
  ]);
  expect(outcomes.map(({ outcome }) => outcome.ok)).toEqual([true, true]);
  expect(outcomes[1]?.outcome).toMatchObject({ value: { success: true, chunks: 3 } });
});

it("a repeated delete of a missing drawer gets the same answer although the drawer was filed meanwhile", () => {
  using ledger = openLedger();
  const { writer } = ledger;
  const note = { wing: "w", room: "r", content: "came later" };
  const [filed] = writer.commit([call("add_drawer", note)]).outcomes;
  const { drawer_id: id } = (filed?.outcome as { value: { drawer_id: string } }).value;
  writer.commit([call("delete_drawer", { drawer_id: id })]);
  const first = writer.commit([call("delete_drawer", { drawer_id: id }, "lost answer")]).outcomes[0];
  writer.commit([call("add_drawer", note)]);
  const again = writer.commit([call("delete_drawer", { drawer_id: id }, "lost answer")]).outcomes[0];
  expect(again).toEqual({ ...first, replayed: true });
  expect(writer.commit([call("add_drawer", note)]).outcomes[0]?.outcome).toMatchObject({
    value: { reason: "already_exists" },
  });
});
