/** `forget` changed the index's files while a MemPalace had the palace open, and could have wiped rows that MemPalace added. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLog } from "../../src/base/log.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { createPalace } from "../../src/mempalace/driver/files/create.ts";
import { startErasure } from "../../src/mempalace/erase/erasure.ts";

test("forget does not touch the palace while another process has it locked, and wipes the text afterwards", async () => {
  const dir = mkdtempSync(join(tmpdir(), "palace-erase-"));
  createPalace(dir);
  const before = readFileSync(join(dir, "chroma.sqlite3"));
  let listed = [{ seq: 1, ids: ["gone"] }];
  let locked: PalaceError | undefined = new PalaceError("STORE_UNAVAILABLE", "MemPalace has it", "");
  let held = 0;
  const erasure = startErasure({
    pending: () => listed,
    unsent: () => 0,
    awaiting: () => [],
    palace: {
      ...{ dir, driver: "files", isHere: () => true, wake: () => {}, detail: () => "", lockedBy: () => locked },
      hold: () => Promise.resolve(() => void (held += 1)),
    },
    graph: { file: join(dir, "none"), unsent: () => 0, wake: () => {} },
    ledger: {
      rewrite: () => Promise.resolve(),
      cutLog: () => Promise.resolve(true),
      done: () => Promise.resolve(void (listed = [])),
    },
    fault: undefined,
    log: createLog(() => {}, "error"),
  });
  expect(await erasure.settled(10_000)).toMatchObject({ pending: 1, problems: ["MemPalace has it"] });
  expect(held).toBe(0);
  expect(readFileSync(join(dir, "chroma.sqlite3")).equals(before)).toBe(true);
  locked = undefined;
  expect(await erasure.settled(10_000)).toMatchObject({ pending: 0, problems: [] });
  expect(held).toBe(1);
  await erasure.stop();
  rmSync(dir, { recursive: true });
});
