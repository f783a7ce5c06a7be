/** Tests the lines of `.env` that we write, in compose's spelling, and the choice of the workspace folder. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hasSetting, quotedValue, writeSettings } from "../../../src/devbox/settings.ts";
import { chooseWorkspace, keepWorkspace } from "../../../src/devbox/workspace.ts";

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "palace-settings-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));
const text = (): string => readFileSync(join(root, ".env"), "utf8");

test("a setting replaces or adds a line of .env and keeps every other line", () => {
  writeFileSync(join(root, ".env"), "# mine\nexport DEVBOX_UID = 5\nA=1");
  expect(writeSettings(root, { DEVBOX_UID: "7", DEVBOX_GID: "8" })).toBe(true);
  expect(text()).toBe("# mine\nDEVBOX_UID=7\nA=1\nDEVBOX_GID=8\n");
  expect(writeSettings(root, { DEVBOX_UID: "7" })).toBe(false);
  expect([hasSetting(root, "DEVBOX_GID"), hasSetting(root, "DEVBOX")]).toEqual([true, false]);
});

test("a value that compose would misread is quoted", () => {
  expect(["/a/b-c", "/my work", "/it's $5"].map(quotedValue)).toEqual(["/a/b-c", "'/my work'", '"/it\'s \\$5"']);
});

const choose = (wanted: Partial<Parameters<typeof chooseWorkspace>[0]>): ReturnType<typeof chooseWorkspace> =>
  chooseWorkspace({
    ...{ root, option: undefined, variable: undefined, cwd: root, resolved: join(root, "volumes"), last: undefined },
    ...wanted,
  });

test("up uses the last workspace again and refuses a missing workspace", () => {
  const last = join(root, "work");
  expect(() => choose({ last })).toThrow("is not a folder here; nothing was changed");
  mkdirSync(last);
  expect(choose({ last })).toEqual({ folder: last, isKept: true });
  expect(choose({ last, option: "." })).toEqual({ folder: root, isKept: true });
  expect(choose({})).toEqual({ folder: join(root, "volumes"), isKept: false });
  writeFileSync(join(root, ".env"), `DEVBOX_WORKSPACE=${root}/moved`);
  expect(() => choose({ resolved: `${root}/moved` })).toThrow(/moved is not a folder here; nothing was changed/);
});

test("up writes the chosen workspace to .env only on request", () => {
  const chosen = choose({ option: "." });
  expect(hasSetting(root, "DEVBOX_WORKSPACE")).toBe(false);
  keepWorkspace(root, { ...chosen, isKept: false }, () => {});
  expect(hasSetting(root, "DEVBOX_WORKSPACE")).toBe(false);
  keepWorkspace(root, chosen, () => {});
  expect(text()).toBe(`DEVBOX_WORKSPACE=${root}\n`);
});

test("up refuses a workspace with a colon and suggests a link without a colon", () => {
  const folder = join(root, "a:b");
  mkdirSync(folder);
  for (const wanted of [{ option: "a:b" }, { variable: folder }, { last: folder }])
    expect(() => choose(wanted)).toThrow(
      expect.objectContaining({
        code: "CONFIG_BAD_VALUE",
        message: expect.stringContaining("has a colon"),
        hint: expect.stringContaining(`ln -s ${folder} ${join(root, "a-b")}`),
      }),
    );
});
