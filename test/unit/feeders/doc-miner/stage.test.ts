/** Tests the staging area on real files: which project owns a wing's folder, copies with the original's time, and manifests. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  claimStage,
  findStage,
  identityOf,
  type Manifest,
  readManifest,
  stageDocument,
  stagedPath,
  unstageDocument,
} from "../../../../src/feeders/doc-miner/staging-area.ts";
import { writeNotes } from "../../../../src/feeders/notes.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-stage-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function project(name: string): string {
  mkdirSync(join(home, name), { recursive: true });
  return join(home, name);
}
const options = (root: string, palace = "/palace") => ({
  cacheDir: join(home, "cache/palace"),
  wing: "w",
  root,
  palace,
});
const manifest = (root: string): Manifest => ({ schema: 1, root, wing: "w", rules: "", files: { "a.md": null } });

test("the first project of a wing is staged directly below the wing", () => {
  const stage = claimStage(options(project("one")));
  expect(stagedPath(stage, "docs/a.md")).toBe(join(home, "cache/mempalace-docs/w/docs/a.md"));
  expect(claimStage(options(project("one"))).prefix).toBe("");
});

test("a second project of the wing gets its own folder and keeps it", () => {
  claimStage(options(project("one")));
  const second = claimStage(options(project("two")));
  expect(second.prefix).toMatch(/^two-[0-9a-f]{8}$/);
  expect(claimStage(options(project("two")))).toEqual(second);
  expect(claimStage(options(project("one"))).prefix).toBe("");
});

test("a moved project keeps its staging folder and its manifest", () => {
  const before = claimStage(options(project("here/proj")));
  writeNotes(before.manifestFile, manifest(join(home, "here/proj")));
  mkdirSync(join(home, "there"));
  renameSync(join(home, "here/proj"), join(home, "there/proj"));
  const after = claimStage(options(join(home, "there/proj")));
  expect(after.prefix).toBe("");
  expect(readManifest(after)?.files).toEqual({ "a.md": null });
});

test("a project does not take over the staging folder of a missing project with another name", () => {
  claimStage(options(project("one")));
  rmSync(join(home, "one"), { recursive: true });
  expect(claimStage(options(project("two"))).prefix).not.toBe("");
});

test("looking up a project's staging folder writes no file", () => {
  expect(findStage(options(project("one"))).prefix).toBe("");
  expect(existsSync(join(home, "cache"))).toBe(false);
});

test("the miner keeps a separate manifest for each palace", () => {
  const root = project("one");
  writeNotes(claimStage(options(root, "/a")).manifestFile, manifest(root));
  expect(readManifest(claimStage(options(root, "/b")))).toBeUndefined();
});

test("the miner does not write an unchanged manifest again", () => {
  const root = project("one");
  const stage = claimStage(options(root));
  writeNotes(stage.manifestFile, manifest(root));
  const before = statSync(stage.manifestFile, { bigint: true });
  writeNotes(stage.manifestFile, manifest(root));
  const after = statSync(stage.manifestFile, { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
});

test("the miner ignores a damaged manifest", () => {
  const stage = claimStage(options(project("one")));
  writeFileSync(stage.manifestFile, '{"schema":1,');
  expect(readManifest(stage)).toBeUndefined();
});

test("a staged copy has the original's bytes and time", () => {
  const stage = claimStage(options(project("one")));
  stageDocument(stage, "docs/a.md", Buffer.from("x\r\n"), 1_700_000_000.123456);
  const copy = stagedPath(stage, "docs/a.md");
  expect(readFileSync(copy, "utf8")).toBe("x\r\n");
  expect(statSync(copy).mtimeMs / 1000).toBeCloseTo(1_700_000_000.123456, 4);
});

test("removing a staged copy also removes the folders that become empty", () => {
  const stage = claimStage(options(project("one")));
  for (const path of ["a/b/c.md", "a/d.md"]) stageDocument(stage, path, Buffer.from("x"), 1);
  unstageDocument(stage, "a/b/c.md");
  expect(existsSync(join(stagedPath(stage, "a"), "b"))).toBe(false);
  expect(existsSync(stagedPath(stage, "a/d.md"))).toBe(true);
  unstageDocument(stage, "a/d.md");
  expect(existsSync(join(home, "cache/mempalace-docs"))).toBe(true);
});

test("a staged file can become a folder, and a staged folder a file", () => {
  const stage = claimStage(options(project("one")));
  for (const path of ["LICENSE", "LICENSE/mit.txt", "LICENSE"]) {
    stageDocument(stage, path, Buffer.from("x"), 1);
    expect(statSync(stagedPath(stage, path)).isFile()).toBe(true);
  }
});

test("the identity of a document is its path below the staging area", () => {
  expect(identityOf("/home/x/.cache/mempalace-docs/w/a/b.md", "w")).toBe("w/a/b.md");
  expect(identityOf("/src/mempalace-docs/.cache/mempalace-docs/w/a.md", "w")).toBe("w/a.md");
  expect(identityOf("/home/x/a.md", "w")).toBeUndefined();
});
