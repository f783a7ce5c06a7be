/** Tests how foreign rows in Chroma's file are found by comparing the file with a real ledger. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { place } from "../../../src/memory/ledger/record.ts";
import { createLog } from "../../../src/base/log.ts";
import type { PalaceRecord } from "../../../src/memory/port/public-palace.ts";
import type { Adopter } from "../../../src/mempalace/adopt/adoption.ts";
import { mayHold, readChroma, readHead } from "../../../src/mempalace/format/chroma-file.ts";
import { comparePalace, type Comparison } from "../../../src/mempalace/reconcile/compare.ts";
import { CountedDriver } from "../../../src/mempalace/reconcile/counted-driver.ts";
import { startWatch, type Watch } from "../../../src/mempalace/reconcile/reconciler.ts";
import { ChromaPalace } from "../../helpers/chroma-palace.ts";
import { createLedger, insertDrawers } from "../../helpers/ledger-fixture.ts";
import { MemoryDriver } from "../../helpers/memory-driver.ts";

const VECTOR = new Float32Array([1, 0]);

let folder: string;
let palaceDir: string;
let palace: ChromaPalace;
let ledger: Database.Database;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palace-watch-"));
  palaceDir = join(folder, "palace");
  mkdirSync(palaceDir);
  palace = new ChromaPalace(palaceDir);
  ledger = createLedger(join(folder, "ledger.sqlite3"));
});
afterEach(() => {
  palace.close();
  ledger.close();
  rmSync(folder, { recursive: true });
});

/** Files drawers in the ledger as if they had been sent. With `send` it also puts them into the palace. */
function file(texts: readonly string[], send = true): string[] {
  const rows = insertDrawers(
    ledger,
    texts.map((text) => ({ text, vector: VECTOR })),
  );
  ledger.exec("DELETE FROM outbox");
  const ids = rows.map((row) => ledger.prepare("SELECT id FROM drawer WHERE row = ?").pluck().get(row) as string);
  if (send) palace.upsert(ids.map((id, at) => recordOf(id, texts[at] ?? "")));
  return ids;
}

function recordOf(id: string, text: string): PalaceRecord {
  return { id, text, metadata: { wing: "wing", room: "room" }, vector: VECTOR };
}

function compare(sinceSeq = 0): Comparison | undefined {
  return comparePalace({ palaceDir, ours: palace.collectionId, sinceSeq }, ledger);
}

describe("the comparison of the public palace with the ledger", () => {
  it("the comparison finds no difference between equal drawers on many pages", () => {
    file(Array.from({ length: 450 }, (_, n) => `text ${n}`));
    expect(compare()).toMatchObject({ collections: [], recent: 0, changed: 0, missing: [], unindexed: 0 });
  });

  it("the comparison counts each foreign row once and counts recent rows separately", () => {
    file(["ours"]);
    const ids = Array.from({ length: 450 }, (_, n) => `drawer_of_others_${String(999 - n)}`);
    palace.upsert(ids.slice(0, 400).map((id) => recordOf(id, "theirs")));
    const head = readChroma(palaceDir, 0, readHead);
    palace.upsert(ids.slice(400).map((id) => recordOf(id, "theirs")));
    palace.upsertInto("mempalace_closets", [recordOf("closet", "theirs")]);
    expect(compare(head)).toMatchObject({
      collections: [
        { name: "mempalace_closets", rows: 1 },
        { name: "mempalace_drawers", rows: 450 },
      ],
      recent: 51,
      changed: 0,
      missing: [],
    });
  });

  it("the comparison finds our changed drawer and ignores a drawer with an unsent change", () => {
    const [changed = "", onItsWay = ""] = file(["one", "two"]);
    palace.upsert([recordOf(changed, "other words"), recordOf(onItsWay, "older words")]);
    ledger.prepare("INSERT INTO outbox (id, at_ms) VALUES (?, 1)").run(onItsWay);
    expect(compare()).toMatchObject({ changed: 1, missing: [], collections: [] });
  });

  it("the comparison accepts a row without wing and room for a drawer in the default wing and room", () => {
    const { wing, room } = place({});
    const [row] = insertDrawers(ledger, [{ text: "swept", wing, room, vector: VECTOR }]);
    ledger.exec("DELETE FROM outbox");
    const id = ledger.prepare("SELECT id FROM drawer WHERE row = ?").pluck().get(row) as string;
    palace.upsert([{ id, text: "swept", metadata: { hall: "general" }, vector: VECTOR }]);
    expect(compare()).toMatchObject({ changed: 0, missing: [], collections: [] });
  });

  it("the comparison finds our missing drawers and ignores a drawer with an unsent removal", () => {
    const [gone = "", kept = "", removed = ""] = file(["one", "two", "three"]);
    palace.remove([gone]);
    ledger.prepare("DELETE FROM drawer WHERE id = ?").run(removed);
    expect(compare()).toMatchObject({ missing: [gone], collections: [], changed: 0 });
    expect(kept).not.toBe("");
  });

  it("the comparison does not report an unsent drawer or a drawer without a vector as missing", () => {
    const [unsent = ""] = file(["one"], false);
    ledger.prepare("INSERT INTO outbox (id, at_ms) VALUES (?, 1)").run(unsent);
    insertDrawers(ledger, [{ text: "without a vector" }]);
    expect(compare()).toMatchObject({ missing: [] });
  });

  it("the comparison counts the rows that have no vector in the index on disk", () => {
    file(["one", "two", "three"]);
    palace.flushIndex(3);
    expect(compare()).toMatchObject({ unindexed: 0 });
    palace.flushIndex(1);
    expect(compare()).toMatchObject({ unindexed: 2 });
    rmSync(join(palaceDir, palace.vectorSegment), { recursive: true });
    expect(compare()).toMatchObject({ unindexed: 3 });
  });
});

describe("the reader of a palace's Chroma file", () => {
  it("reading a palace makes no file in its folder, and a palace in WAL mode is refused", () => {
    file(["one"]);
    palace.close();
    const before = readdirSync(palaceDir).sort();
    expect(readChroma(palaceDir, 0, readHead)).toBe(1);
    expect(readdirSync(palaceDir).sort()).toEqual(before);
    const database = new Database(join(palaceDir, "chroma.sqlite3"));
    database.pragma("journal_mode = WAL");
    database.close();
    expect(() => readChroma(palaceDir, 0, readHead)).toThrow(/WAL mode/);
    expect(readdirSync(palaceDir).sort()).toEqual(before);
  });

  it("mayHold is false for a missing file and for another collection's id, and true for an unreadable file and without an id", () => {
    expect(mayHold(palaceDir, palace.collectionId)).toBe(true);
    expect(mayHold(palaceDir, "another")).toBe(false);
    expect(mayHold(palaceDir, undefined)).toBe(true);
    expect(mayHold(join(folder, "nowhere"), "another")).toBe(false);
    writeFileSync(join(folder, "chroma.sqlite3"), "no database at all, but long enough to be looked into");
    expect(mayHold(folder, "another")).toBe(true);
  });
});

describe("the reconciler", () => {
  /** Driver that writes to the palace file as Chroma does. */
  class FileDriver extends MemoryDriver {
    override readonly collectionId = palace.collectionId as never;
    override async upsert(records: readonly PalaceRecord[]): Promise<void> {
      await Promise.resolve();
      palace.upsert(records);
    }
    override async remove(ids: readonly string[]): Promise<void> {
      await Promise.resolve();
      palace.remove(ids);
    }
  }

  let nowMs = 0;
  /** Looks again after the pause between two comparisons. */
  const lookLater = async (): Promise<void> => {
    nowMs += 600_000;
    await watch.look();
  };
  let lines: string[];
  let seen: string | undefined;
  let compared: number;
  let resent: (readonly string[] | "all")[];
  let driver: CountedDriver;
  let watch: Watch;
  const watches: Watch[] = [];

  const begin = (adopter?: Adopter): void => {
    driver = new CountedDriver(new FileDriver());
    watch = startWatch({
      ...{ palaceDir, ledgerFile: join(folder, "ledger.sqlite3"), driver },
      seen: { read: () => seen, write: async (text) => void ((seen = text), (compared += 1)) },
      resend: async (ids) => void resent.push(ids),
      hold: async () => () => {},
      adopter,
      guess: (recent) => (recent ? "somebody now" : "somebody before"),
      log: createLog((line) => lines.push(line), "warn"),
      now: () => nowMs,
    });
    watches.push(watch);
  };
  beforeEach(() => {
    [lines, seen, compared, resent] = [[], undefined, 0, []];
  });
  afterEach(async () => {
    for (const one of watches.splice(0)) await one.stop();
  });

  it("the reconciler compares once at the start and not after the driver's own writes", async () => {
    file(["one"]);
    begin();
    await watch.look();
    expect([watch.status().state, compared]).toEqual(["clear", 1]);
    const ids = file(["two", "three", "four"], false);
    await driver.upsert(ids.map((id, at) => recordOf(id, ["two", "three", "four"][at] ?? "")));
    await driver.remove(["nobody"]);
    await lookLater();
    expect([watch.status().state, compared]).toEqual(["clear", 1]);
  });

  it("the reconciler reports foreign writes once in the log and sends our missing drawers again", async () => {
    const [, gone = ""] = file(["one", "two"]);
    begin();
    await watch.look();
    palace.upsert([recordOf("theirs", "words")]);
    palace.remove([gone]);
    await lookLater();
    expect(watch.status()).toMatchObject({
      ...{ state: "found", rows: 1, collections: [{ name: "mempalace_drawers", rows: 1 }], resent: 1 },
      detail: "written by somebody now",
    });
    expect(resent).toEqual([[gone]]);
    await driver.upsert([recordOf(gone, "two")]);
    await lookLater();
    expect(watch.status()).toMatchObject({ state: "found", rows: 1, resent: 1 });
    expect(lines.filter((line) => line.includes("foreign writes in the palace"))).toHaveLength(1);
  });

  it("the reconciler finds a foreign write that becomes readable later", async () => {
    file(["one"]);
    begin();
    await watch.look();
    const appear = palace.logInto("mempalace_drawers", [recordOf("theirs", "words")]);
    await lookLater();
    expect(watch.status()).toMatchObject({ rows: 0 });
    appear();
    await lookLater();
    expect(watch.status()).toMatchObject({ state: "found", rows: 1 });
    // The reconciler stops comparing when nobody has written for a while.
    for (let looks = 0; looks < 5; looks++) await lookLater();
    const before = compared;
    await lookLater();
    expect(compared).toBe(before);
  });

  it("the reconciler leaves a foreign write that is not readable yet to the next broker", async () => {
    file(["one"]);
    begin();
    await watch.look();
    const appear = palace.logInto("mempalace_drawers", [recordOf("theirs", "words")]);
    await lookLater();
    await watch.stop();
    appear();
    begin();
    await watch.look();
    expect(watch.status()).toMatchObject({ state: "found", rows: 1 });
  });

  it("the reconciler uses the former broker's findings until a new foreign write", async () => {
    file(["one"]);
    palace.upsert([recordOf("theirs", "words")]);
    begin();
    await watch.look();
    await watch.stop();
    const before = compared;
    begin();
    await watch.look();
    expect(watch.status()).toMatchObject({ state: "found", rows: 1, detail: "written by somebody before" });
    expect(compared).toBe(before);
    await watch.stop();
    palace.upsert([recordOf("theirs too", "words")]);
    begin();
    await watch.look();
    expect(watch.status()).toMatchObject({ rows: 2 });
  });

  it("the reconciler sends all drawers once more to an index that lost vectors", async () => {
    file(["one", "two"]);
    palace.flushIndex(1);
    begin();
    await watch.look();
    expect(watch.status()).toMatchObject({ state: "found", unindexed: 1 });
    expect(resent).toEqual(["all"]);
    await watch.stop();
    begin();
    await watch.look();
    expect(watch.status()).toMatchObject({ unindexed: 1 });
    expect(resent).toEqual(["all"]);
  });

  it("the reconciler reports with a hint why it cannot compare palace and ledger", async () => {
    const database = new Database(join(palaceDir, "chroma.sqlite3"));
    database.exec("ALTER TABLE embeddings RENAME COLUMN created_at TO made_at");
    begin({ run: () => Promise.resolve(0), stop: () => Promise.resolve() });
    await watch.look();
    expect(watch.adoption()).toMatchObject({
      ...{ state: "refused", detail: expect.stringMatching(/chroma.sqlite3: no such column: e.created_at/) as string },
      hint: expect.stringMatching(/palace logs/) as string,
    });
    expect(watch.isSettled()).toBe(false);
    await lookLater();
    // The reason is logged once, however often the comparison is tried.
    expect(lines.filter((line) => line.includes("could not be compared"))).toHaveLength(1);
    database.exec("ALTER TABLE embeddings RENAME COLUMN made_at TO created_at");
    database.close();
    await lookLater();
    expect(watch.adoption()).toMatchObject({ state: "verified", detail: "", hint: "" });
    expect(watch.isSettled()).toBe(true);
  });

  it("the reconciler ends a running comparison when it stops", async () => {
    file(Array.from({ length: 2_000 }, (_, n) => `text ${n}`));
    begin();
    const looking = watch.look();
    await watch.stop();
    await looking;
    expect([watch.status().state, compared, lines]).toEqual(["looking", 0, []]);
  }, 60_000);

  it("the reconciler is off without a palace or with a palace of another driver", async () => {
    palace.close();
    rmSync(join(palaceDir, "chroma.sqlite3"));
    begin();
    await watch.look();
    expect(watch.status()).toMatchObject({ state: "off", rows: 0 });
    expect(existsSync(join(palaceDir, "chroma.sqlite3"))).toBe(false);
    const other = new ChromaPalace(palaceDir, "other-");
    await watch.look();
    expect(watch.status()).toMatchObject({ state: "off", detail: expect.stringContaining("not the one") as string });
    other.close();
  });
});
