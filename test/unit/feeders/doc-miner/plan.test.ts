/** Tests the document miner's plan of a run, which depends on the folder, the manifest of the last run and the palace. */
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  isFiled,
  isUnchanged,
  recordsByPath,
  planFeed,
  type PlanInput,
} from "../../../../src/feeders/doc-miner/plan.ts";
import type { Entry, Manifest, Stage } from "../../../../src/feeders/doc-miner/staging-area.ts";
import { DOCS_RULES, surveyProject } from "../../../../src/feeders/doc-miner/survey.ts";
import type { FilingRecord } from "../../../../src/protocol/filing.ts";

const found = { path: "a.md", mtime: 100.5, size: 7 };
const entry: Entry = { mtime: 100.5, size: 7, sha256: "aa", room: "general", drawers: 1 };
const record: FilingRecord = { sourceFile: "/s/a.md", mtime: 1, sha256: "aa", drawers: 1 };

const plan = (change: Partial<PlanInput> = {}) =>
  planFeed({
    survey: { documents: [found], skipped: [], unreadable: [], undecided: [] },
    manifest: manifest({ "a.md": entry }),
    records: new Map([["a.md", record]]),
    isMined: () => false,
    rules: "r",
    force: false,
    ...change,
  });

function manifest(files: Manifest["files"]): Manifest {
  return { schema: 1, root: "/p", wing: "w", rules: "r", files };
}

test("the miner skips a file whose size and time match the manifest and whose content is in the palace", () => {
  expect(plan()).toEqual({ read: [], unchanged: [found], gone: [] });
});

test("the miner skips an unchanged file that MemPalace has filed, unless --force is given", () => {
  const mined = {
    isMined: ({ sourceFile, mtime }: { sourceFile: string; mtime: number }) =>
      `${sourceFile} ${mtime}` === "a.md 100.5",
  };
  const alone = { ...mined, records: new Map<string, FilingRecord>(), rules: "other" };
  expect(plan({ ...alone, manifest: undefined }).unchanged).toEqual([found]);
  expect(plan({ ...alone, manifest: manifest({ "a.md": null }) }).unchanged).toEqual([found]);
  expect(plan({ ...alone, force: true }).read).toEqual([found]);
  const later = { documents: [{ ...found, mtime: 101 }], skipped: [], unreadable: [], undecided: [] };
  expect(plan({ ...alone, survey: later }).read).toHaveLength(1);
});

test("a document that becomes too large keeps its drawers", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "palace-plan-"));
  writeFileSync(join(folder.path, "a.md"), "larger than five bytes");
  const survey = surveyProject(folder.path, [], { ...DOCS_RULES, sizeMaxBytes: 5 });
  expect(survey.skipped).toEqual([expect.objectContaining({ file: "a.md", outcome: "too_large" })]);
  expect(plan({ survey })).toEqual({ read: [], unchanged: [], gone: [] });
});

test("times within a thousandth of a second count as equal", () => {
  expect(isUnchanged({ ...found, mtime: 100.5009 }, entry, record)).toBe(true);
  expect(isUnchanged({ ...found, mtime: 100.502 }, entry, record)).toBe(false);
});

test.each([
  ["another size", { survey: { documents: [{ ...found, size: 8 }], skipped: [], unreadable: [], undecided: [] } }],
  ["a palace without the file", { records: new Map<string, FilingRecord>() }],
  ["a palace with other content", { records: new Map([["a.md", { ...record, sha256: "bb" }]]) }],
  ["a missing manifest", { manifest: undefined }],
  ["an unfinished entry of the manifest", { manifest: manifest({ "a.md": null }) }],
  ["other room rules", { rules: "other" }],
  ["--force", { force: true }],
])("the miner reads a file again because of %s", (_name, change: Partial<PlanInput>) => {
  expect(plan(change).read).toHaveLength(1);
});

test("the miner does not read a refused file again unless the palace has the file", () => {
  const refused = { ...entry, sha256: "", refused: "binary" };
  expect(isUnchanged(found, refused, undefined)).toBe(true);
  expect(isUnchanged(found, refused, record)).toBe(false);
});

test("a file in the manifest counts as gone if it is no longer a document", () => {
  expect(plan({ manifest: manifest({ "a.md": entry, "old/b.md": entry, "c.md": null }) }).gone).toEqual([
    "old/b.md",
    "c.md",
  ]);
});

test("a file does not count as gone if its folder cannot be read or its ignore rules are too complex to decide", () => {
  const noted = manifest({ "a.md": entry, "locked/b.md": entry, "lockedness.md": entry, "c.md": entry });
  const hidden = (kind: "unreadable" | "undecided", paths: string[]) =>
    plan({ survey: { documents: [], skipped: [], unreadable: [], undecided: [], [kind]: paths }, manifest: noted })
      .gone;
  for (const kind of ["unreadable", "undecided"] as const) {
    expect(hidden(kind, ["locked", "c.md"])).toEqual(["a.md", "lockedness.md"]);
    expect(hidden(kind, [""])).toEqual([]);
  }
});

test("a file counts as filed if the palace has its content and the manifest names no other room", () => {
  expect(isFiled("aa", "general", undefined, record)).toBe(true);
  expect(isFiled("aa", "general", entry, record)).toBe(true);
  expect(isFiled("aa", "backend", entry, record)).toBe(false);
  expect(isFiled("bb", "general", entry, record)).toBe(false);
  expect(isFiled("aa", "general", entry, undefined)).toBe(false);
});

const stage: Stage = {
  isInPlace: false,
  home: "/home/me/.cache/mempalace-docs",
  wing: "w",
  root: "/p",
  prefix: "",
  manifestFile: "",
  formerManifestFile: undefined,
};
const at = (sourceFile: string): FilingRecord => ({ ...record, sourceFile });

test("the miner recognises a document that was filed under another home", () => {
  const records = recordsByPath(stage, [
    at("/home/developer/.cache/mempalace-docs/w/docs/a.md"),
    at("/elsewhere/b.md"),
  ]);
  expect([...records.keys()]).toEqual(["docs/a.md"]);
});

test("the miner prefers the document of this home to the same document of another home", () => {
  const own = "/home/me/.cache/mempalace-docs/w/a.md";
  for (const order of [
    [own, "/home/other/.cache/mempalace-docs/w/a.md"],
    ["/home/other/.cache/mempalace-docs/w/a.md", own],
  ])
    expect(recordsByPath(stage, order.map(at)).get("a.md")?.sourceFile).toBe(own);
});

test("a wing's second project gets only the records of files below its own folder", () => {
  const second = { ...stage, prefix: "two-0badcafe" };
  const records = recordsByPath(second, [at("/c/mempalace-docs/w/a.md"), at("/c/mempalace-docs/w/two-0badcafe/a.md")]);
  expect([...records.values()]).toEqual([at("/c/mempalace-docs/w/two-0badcafe/a.md")]);
});
