/** Tests how a restored palace replaces the old palace: by a list of moves, which deletes no file. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Draft, makeDraft, removeDrafts } from "../../../../src/memory/backup/draft.ts";
import { lookInto } from "../../../../src/memory/backup/look.ts";
import { EVENTS, LEDGER } from "../../../../src/memory/backup/contents.ts";
import { type Manifest } from "../../../../src/memory/backup/manifest.ts";
import { move } from "../../../../src/memory/backup/move.ts";
import { ownEntries, type SwapPaths } from "../../../../src/memory/backup/palace-files.ts";
import { assertStaged, leaveStaged, listAllAgain } from "../../../../src/memory/backup/restore.ts";
import {
  asideOf,
  finishRestore,
  type PendingRestore,
  planSwap,
  STAGED,
  swapIn,
} from "../../../../src/memory/backup/swap.ts";
import { compareLinks, readLinks } from "../../../../src/memory/ledger/graph-row.ts";
import { openForReading, openForWriting } from "../../../../src/memory/ledger/open.ts";

let root: string;
let paths: SwapPaths;
let staged: Draft;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "swap-")));
  paths = at(join(root, "home"));
  mkdirSync(paths.palaceDir, { recursive: true });
  put(paths.ledgerFile, "old ledger");
  put(join(paths.palaceDir, "chroma.sqlite3"), "old palace");
  staged = makeDraft(paths.home, STAGED);
  for (const name of [LEDGER, EVENTS]) put(join(staged.folder, name), `new ${name}`);
});
afterEach(() => {
  staged.release();
  rmSync(root, { recursive: true, force: true });
});

test("a swap that fails after its list of moves was written keeps the staged files, and the next start finishes the swap", () => {
  // The public palace's folder is on an unmounted disk. The swap moves the old ledger aside, and then cannot move the coordination log in.
  rmSync(paths.palaceDir, { recursive: true });
  symlinkSync(join(root, "unmounted"), paths.palaceDir);
  expect(() => swapIn(paths, plan())).toThrow();
  expect(existsSync(paths.ledgerFile)).toBe(false);
  leaveStaged(paths.home, staged);
  expect(readFileSync(join(staged.folder, LEDGER), "utf8")).toBe("new ledger.sqlite3");
  rmSync(paths.palaceDir);
  finishRestore(paths);
  expect(readFileSync(paths.ledgerFile, "utf8")).toBe("new ledger.sqlite3");
  expect(readFileSync(join(paths.palaceDir, EVENTS), "utf8")).toBe("new logstream.sqlite3");
  expect(readdirSync(paths.home).filter((name) => name.startsWith(".restore") || name === "restore.json")).toEqual([]);
});

test("a restore that ends without a list of moves removes its staged files", () => {
  leaveStaged(paths.home, staged);
  expect(existsSync(staged.folder)).toBe(false);
});

test("the next start refuses a list of moves whose staged files are missing, and moves no file", () => {
  list(plan());
  rmSync(staged.folder, { recursive: true });
  expect(() => finishRestore(paths)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  expect(readFileSync(paths.ledgerFile, "utf8")).toBe("old ledger");
  expect(existsSync(join(paths.home, "restore.json"))).toBe(true);
});

test("the next start finishes a swap that was killed between two moves, even if the palace now has another path", () => {
  const pending = plan();
  list(pending);
  // Simulates a kill after the old ledger was moved aside.
  const [aside = ""] = asideOf(paths, pending);
  mkdirSync(aside);
  renameSync(paths.ledgerFile, join(aside, LEDGER));
  staged.release();
  const moved = at(join(root, "moved"));
  renameSync(paths.home, moved.home);
  finishRestore(moved);
  expect(readFileSync(moved.ledgerFile, "utf8")).toBe("new ledger.sqlite3");
  expect(readFileSync(join(moved.home, basename(aside), LEDGER), "utf8")).toBe("old ledger");
  expect(existsSync(join(moved.home, basename(staged.folder)))).toBe(false);
});

test.each<[string, (list: PendingRestore) => unknown]>([
  ["no JSON", () => "{"],
  ["absolute paths", ({ file }) => ({ schema: 1, file, staged: "/s", aside: [], moves: [{ from: "/a", to: "/b" }] })],
  ["a path in place of a name", (one) => ({ ...one, out: [{ place: "home", name: "../victim" }] })],
  ["a file of the home that is not the palace's", (one) => ({ ...one, out: [{ place: "home", name: "id_rsa" }] })],
  ["an entry without a name", (one) => ({ ...one, out: [{ place: "home" }] })],
  ["an entry with an unknown place", (one) => ({ ...one, out: [{ place: "attic", name: LEDGER }] })],
  ["a path that no backup has", (one) => ({ ...one, come: ["../../victim"] })],
  ["a door's address", (one) => ({ ...one, come: ["listen.json"] })],
  ["another staged folder", (one) => ({ ...one, staged: "../elsewhere" })],
  ["another folder for the old state", (one) => ({ ...one, stamp: "x/../../../elsewhere" })],
])("a list of moves with %s is refused, and no file is moved", (_what, forge) => {
  put(join(root, "victim"), "mine");
  put(join(paths.home, "id_rsa"), "mine");
  put(join(staged.folder, "listen.json"), "{}");
  const before = tree();
  const forged = forge(plan());
  put(join(paths.home, "restore.json"), typeof forged === "string" ? forged : JSON.stringify(forged));
  expect(() => finishRestore(paths)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  rmSync(join(paths.home, "restore.json"));
  expect(tree()).toEqual(before);
});

test("a staged folder that is a link to another folder is refused", () => {
  const elsewhere = join(root, "elsewhere");
  list(plan());
  renameSync(staged.folder, elsewhere);
  symlinkSync(elsewhere, staged.folder);
  expect(() => finishRestore(paths)).toThrow(/names/);
  expect(readdirSync(elsewhere)).toContain(LEDGER);
});

test("a staged folder is removed only after the process that made it has ended", () => {
  removeDrafts(paths.home, STAGED);
  expect(existsSync(staged.folder)).toBe(true);
  staged.release();
  removeDrafts(paths.home, STAGED);
  expect(existsSync(staged.folder)).toBe(false);
});

test("without the staged ledger the restore fails and creates no empty ledger", () => {
  rmSync(join(staged.folder, LEDGER));
  expect(() => listAllAgain(staged.folder)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  expect(readdirSync(staged.folder)).not.toContain(LEDGER);
});

test("after a restore, an older public file that lacks a tunnel or hallway does not delete it from the ledger", () => {
  rmSync(join(staged.folder, LEDGER));
  const ledger = openForWriting(join(staged.folder, LEDGER));
  for (const kind of ["tunnel", "hallway"])
    ledger.prepare("INSERT INTO link (kind, id, record) VALUES (?, 'x', '{}')").run(kind);
  ledger.exec("DELETE FROM graph_outbox");
  ledger.close();
  listAllAgain(staged.folder);
  const restored = openForReading(join(staged.folder, LEDGER));
  for (const kind of ["tunnel", "hallway"] as const)
    expect(compareLinks(readLinks(restored, kind), [], kind, true).deleted).toEqual([]);
  restored.close();
});

test("a staged folder that lost a file, or whose rows differ from its manifest, is refused", () => {
  for (const name of [LEDGER, EVENTS]) rmSync(join(staged.folder, name));
  openForWriting(join(staged.folder, LEDGER)).close();
  const { counts } = lookInto(staged.folder);
  const file = { name: LEDGER, size: 1, sha256: "" };
  const manifest = { files: [file], counts } as unknown as Manifest;
  assertStaged(staged.folder, manifest);
  expect(() => assertStaged(staged.folder, { ...manifest, counts: { ...counts, drawers: 3 } })).toThrow(
    /other drawers/,
  );
  expect(() => assertStaged(staged.folder, { ...manifest, files: [file, { ...file, name: EVENTS }] })).toThrow(/gone/);
});

test("the list of the palace's own files omits other files in the same folders, and the graph of another home", () => {
  put(join(paths.palaceDir, "thesis.odt"), "mine");
  put(join(paths.home, "notes.md"), "mine");
  put(join(root, "classic", "knowledge_graph.sqlite3"), "another's");
  const elsewhere = { ...paths, graphFile: join(root, "classic", "knowledge_graph.sqlite3") };
  expect(ownEntries(elsewhere, false)).toEqual([
    { place: "home", name: LEDGER },
    { place: "palace", name: "chroma.sqlite3" },
  ]);
  put(paths.graphFile, "ours");
  expect(ownEntries(paths, false)).toContainEqual({ place: "home", name: "knowledge_graph.sqlite3" });
  expect(ownEntries(paths, true)).not.toContainEqual({ place: "palace", name: "chroma.sqlite3" });
});

test("a move to another disk copies the whole source, then removes the source and the leftovers of a killed move", () => {
  const otherDisk = (): never => {
    throw Object.assign(new Error("cross-device link"), { code: "EXDEV" });
  };
  const from = join(paths.palaceDir, "segment");
  put(join(from, "deep", "data.bin"), "vectors");
  put(join(root, "to.part", "half"), "what a killed one has left");
  move(from, join(root, "to"), otherDisk);
  expect(readFileSync(join(root, "to", "deep", "data.bin"), "utf8")).toBe("vectors");
  expect(existsSync(from) || existsSync(join(root, "to.part")) || existsSync(join(root, "to", "half"))).toBe(false);
  move(paths.ledgerFile, join(root, "file"), otherDisk);
  expect(readFileSync(join(root, "file"), "utf8")).toBe("old ledger");
});

function at(home: string): SwapPaths {
  return {
    ...{ home, palaceDir: join(home, "palace"), ledgerFile: join(home, LEDGER) },
    graphFile: join(home, "knowledge_graph.sqlite3"),
    ...{ tunnelsFile: join(home, "tunnels.json"), hallwaysFile: join(home, "hallways.json") },
  };
}

function plan(): PendingRestore {
  return planSwap(paths, { file: "b.tar", staged: staged.folder, names: [LEDGER, EVENTS] }, false);
}

function list(pending: PendingRestore): void {
  put(join(paths.home, "restore.json"), JSON.stringify(pending));
}

function put(file: string, content: string): void {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, content);
}

function tree(): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
}
