/** A client cannot avoid an undo by dating its writes, because `undo` selects writes by their time of arrival. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LEARNING_TRACES } from "../../src/learning/traces.ts";
import { previewUndo } from "../../src/memory/hygiene/hygiene.ts";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import { moment } from "../../src/base/uptime.ts";

const DAY_MS = 86_400_000;

test("an undo of the last hour reverts a write dated twenty days back and shows the write's date", () => {
  const folder = mkdtempSync(join(tmpdir(), "dated-"));
  const file = join(folder, "ledger.sqlite3");
  const writer = new LedgerWriter(file, applyWrite);
  const reader = new SqliteLedgerReader(file);
  try {
    const now = Date.now();
    const peer = { agent: "box", door: "tcp", uid: -1, pid: 0 };
    const params = { wing: "w", room: "r", content: "planted" };
    const call = { key: "k", isRepeatable: true, method: "add_drawer", params, peer, requestId: "r" };
    writer.commit([{ ...call, atMs: now - 20 * DAY_MS, arrivedAtMs: now }]);
    const [drawer] = reader.listDrawers({}, 1, 0).drawers;
    expect(Date.parse(String(drawer?.metadata["filed_at"]))).toBeLessThan(now - 19 * DAY_MS);
    const plan = previewUndo(writer.tx, { agent: "box", sinceMs: now - 3_600_000, untilMs: now }, LEARNING_TRACES);
    expect(plan).toMatchObject({
      writes: 1,
      removed: 1,
      dated_by_client: { writes: 1, earliest_ms: now - 20 * DAY_MS },
    });
    expect(previewUndo(writer.tx, { agent: "box", sinceMs: 0, untilMs: now - DAY_MS }, LEARNING_TRACES)).toMatchObject({
      writes: 0,
    });
    // Pruning uses the time of arrival, so these rows stay.
    writer.maintain(
      { journalRetentionMs: 30 * DAY_MS, undoMs: 10 * DAY_MS, imagesBytes: 1e9 },
      { ...moment(), wallMs: now },
    );
    expect(previewUndo(writer.tx, { agent: "box", sinceMs: 0, untilMs: now }, LEARNING_TRACES)).toMatchObject({
      writes: 1,
      too_old: 0,
    });
  } finally {
    reader.close();
    writer.close();
    rmSync(folder, { recursive: true });
  }
});
