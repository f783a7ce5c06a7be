/** Tests on a real ledger file that the space of deleted drawers returns to the disk. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import { moment } from "../../../../src/base/uptime.ts";

/** Limits that keep no history: the ledger deletes before-images at once. */
const NOTHING_KEPT = { journalRetentionMs: 1, undoMs: 1, imagesBytes: 0 };
const SOURCES = ["/a", "/b", "/c", "/d"];
const SLICES = 50;
const MEGABYTE = 1024 * 1024;

let folder: string, file: string, writer: LedgerWriter;
let clock = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
});

afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(method: string, all: readonly Record<string, unknown>[]): void {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const { outcomes } = writer.commit(
    all.map((params) => {
      clock += 1000;
      return { key: `k${clock}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock };
    }),
  );
  for (const { outcome } of outcomes) if (!outcome.ok) throw new Error(JSON.stringify(outcome));
}

function fill(): void {
  writer = new LedgerWriter(file, applyWrite);
  for (const source_file of SOURCES)
    write(
      "add_drawer",
      Array.from({ length: SLICES }, (_, at) => ({
        ...{ wing: "w", room: "r", source_file },
        content: `${source_file} ${at} ${"long".repeat(10_000)}`,
      })),
    );
}

/** Deletes all sources but one. The ledger deletes their before-images later. */
function empty(): void {
  write(
    "delete_by_source",
    SOURCES.slice(1).map((source_file) => ({ source_file, dry_run: false })),
  );
}

function restQuietly(): void {
  for (let steps = 0; writer.maintain(NOTHING_KEPT, moment()); steps++) if (steps > 10_000) throw new Error("no end");
}

it("when the broker is idle the ledger returns free pages to the disk, except a few for the next writes", () => {
  fill();
  empty();
  writer.eraser.cutLog();
  const largest = statSync(file).size;
  restQuietly();
  writer.eraser.cutLog();
  expect(statSync(file).size).toBeLessThan(largest / 2);
  const { freeBytes } = writer.eraser.space();
  expect(freeBytes).toBeGreaterThan(0);
  expect(freeBytes).toBeLessThan(5 * MEGABYTE);
});

it("rewriting a ledger without auto_vacuum removes its free pages and switches auto_vacuum on", () => {
  new LedgerWriter(file, applyWrite).close();
  new Database(file).exec("PRAGMA auto_vacuum = NONE; VACUUM").close();
  fill();
  empty();
  restQuietly();
  expect(writer.eraser.space().freeBytes).toBeGreaterThan(5 * MEGABYTE);
  writer.eraser.rewrite();
  expect(writer.eraser.space().freeBytes).toBe(0);
  const database = new Database(file, { readonly: true });
  expect(database.pragma("auto_vacuum", { simple: true })).toBe(2);
  expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  database.close();
});
