/** Tests that an erasure is complete only after the public palace has the new text of each drawer that contained the forgotten text. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { type Erasure, startErasure } from "../../../src/mempalace/erase/erasure.ts";
import { ChromaPalace } from "../../helpers/chroma-palace.ts";

const VECTOR = Float32Array.of(0.6, 0.8, 0);
let dir: string;
let palace: ChromaPalace;
let waiting: { id: string; text: string }[];
let listed: { seq: number; ids: string[] }[];
let erasure: Erasure;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "palace-older-"));
  palace = new ChromaPalace(dir);
  palace.upsert([{ id: "changed", text: "the secret12x", metadata: {}, vector: VECTOR }]);
  listed = [{ seq: 1, ids: ["changed", "new"] }];
});
afterEach(async () => {
  await erasure.stop();
  palace.close();
  rmSync(dir, { recursive: true });
});

/** Starts an erasure. `wake`: called while the erasure waits for the palace. */
function start(wake: () => void, isHere = true): void {
  const done = (): Promise<void> => Promise.resolve(void (listed = []));
  erasure = startErasure({
    pending: () => listed,
    unsent: () => 0,
    awaiting: (ids) => waiting.filter(({ id }) => ids.includes(id)),
    palace: {
      ...{
        dir,
        driver: isHere ? "files" : "chroma",
        isHere: () => isHere,
        wake,
        detail: () => "",
        lockedBy: () => undefined,
      },
      hold: () => Promise.resolve(() => {}),
    },
    graph: { file: join(dir, "none"), unsent: () => 0, wake: () => {} },
    ledger: { rewrite: () => Promise.resolve(), cutLog: () => Promise.resolve(true), done },
    fault: undefined,
    log: SILENT_LOG,
  });
}

test("an erasure waits until the palace has the new text", async () => {
  const changed = { id: "changed", text: "harmless" };
  waiting = [changed];
  start(() => {
    palace.upsert([{ ...changed, metadata: {}, vector: VECTOR }]);
    waiting = [];
  });
  expect(await erasure.settled(10_000)).toMatchObject({ pending: 0, problems: [] });
  expect(waiting).toEqual([]);
  expect(readFileSync(join(dir, "chroma.sqlite3")).includes("secret12x")).toBe(false);
});

test("an erasure does not wait for a drawer that the palace never had, or has with its present text", async () => {
  waiting = [
    { id: "new", text: "never sent" },
    { id: "changed", text: "the secret12x" },
  ];
  start(() => expect.unreachable());
  expect(await erasure.settled(10_000)).toMatchObject({ pending: 0, problems: [], notes: [] });
});

test("an erasure says that a Chroma server elsewhere may keep earlier texts, and does not wait for the server", async () => {
  waiting = [{ id: "changed", text: "harmless" }];
  start(() => expect.unreachable(), false);
  const { pending, notes } = await erasure.settled(10_000);
  expect([pending, notes.some((note) => note.includes("earlier texts"))]).toEqual([0, true]);
});

test("an erasure names the files of an earlier public palace, which may still have the text", async () => {
  waiting = [];
  start(() => expect.unreachable(), false);
  const { notes } = await erasure.settled(10_000);
  expect(readFileSync(join(dir, "chroma.sqlite3")).includes("secret12x")).toBe(true);
  expect(notes.join("\n")).toContain(
    `${join(dir, "chroma.sqlite3")}, an earlier public palace, may still have the text`,
  );
});
