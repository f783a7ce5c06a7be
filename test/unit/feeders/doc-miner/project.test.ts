/** Tests mempalace.yaml: the wing and the rooms of a project (palace.md 3.5). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { wingOfFolder } from "../../../../src/base/project-names.ts";
import { readProject } from "../../../../src/feeders/doc-miner/project.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "palace-project-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const configure = (text: string, name = "mempalace.yaml"): void => writeFileSync(join(root, name), text);

test("--wing wins over mempalace.yaml, and mempalace.yaml wins over the folder's name", async () => {
  expect(await readProject(root, undefined)).toMatchObject({ wingFrom: "folder name", rooms: undefined });
  configure("wing: my_wing\n");
  expect(await readProject(root, undefined)).toMatchObject({ wing: "my_wing", wingFrom: "mempalace.yaml" });
  expect(await readProject(root, "other")).toMatchObject({ wing: "other", wingFrom: "--wing" });
});

test("the project reader also reads the older file mempal.yaml", async () => {
  configure("wing: older\n", "mempal.yaml");
  expect((await readProject(root, undefined)).wing).toBe("older");
});

test("rooms in mempalace.yaml keep their order and keywords", async () => {
  configure("wing: w\nrooms:\n  - name: backend\n    description: x\n    keywords: [api, 3, server]\n  - docs\n");
  expect((await readProject(root, undefined)).rooms).toEqual([
    { name: "backend", keywords: ["api", "server"] },
    { name: "docs", keywords: [] },
  ]);
});

test.each([
  ["wing: [a]\n", /wing is not a name/],
  ["wing: a/b\n", /not a usable name/],
  ["wing: 'a\n", /not YAML/],
  ["- a\n- b\n", /no settings/],
  ["rooms: everything\n", /rooms is not a list/],
  ["rooms: [{description: x}]\n", /a room has no name/],
])("the project reader refuses %j and names the file and the fault", async (text, fault) => {
  configure(text);
  const error = await readProject(root, undefined).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "CONFIG_BAD_VALUE", message: expect.stringMatching(fault) });
});

test("a folder's name becomes a wing that the broker accepts", () => {
  const wings = [
    "/x/My-Project 2",
    "/x/_private_",
    "/x/a+b@c",
    "/x/..",
    "/x/+++",
    "/x/a..b",
    `/x/${"ü".repeat(200)}`,
  ].map(wingOfFolder);
  expect(wings.slice(0, 3)).toEqual(["my_project_2", "private", "a_b_c"]);
  expect(wings.slice(3, 5)).toEqual(["project", "project"]);
  expect(wings[5]).toBe("a.b");
  expect(wings[6]).toBe("ü".repeat(128));
  expect(wingOfFolder(root)).toBe(basename(root).toLowerCase().replaceAll("-", "_"));
});
