/** `.env` gets the one line that is ours, in compose's spelling; the workspace stays what it was. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hasSetting, quotedValue, writeSettings } from "../../../src/devbox/settings.ts";
import { settleWorkspace } from "../../../src/devbox/workspace.ts";

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "palace-settings-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));
const text = (): string => readFileSync(join(root, ".env"), "utf8");

test("a line is replaced where it stands, added where it is missing, and every other line stays", () => {
  writeFileSync(join(root, ".env"), "# mine\nexport DEVBOX_UID = 5\nA=1");
  expect(writeSettings(root, { DEVBOX_UID: "7", DEVBOX_GID: "8" })).toBe(true);
  expect(text()).toBe("# mine\nDEVBOX_UID=7\nA=1\nDEVBOX_GID=8\n");
  expect(writeSettings(root, { DEVBOX_UID: "7" })).toBe(false);
  expect([hasSetting(root, "DEVBOX_GID"), hasSetting(root, "DEVBOX")]).toEqual([true, false]);
});

test("what compose would read otherwise is quoted", () => {
  expect(["/a/b-c", "/my work", "/it's $5"].map(quotedValue)).toEqual(["/a/b-c", "'/my work'", '"/it\'s \\$5"']);
});

test("a workspace that was mounted the last time is kept and written down; one that is not there is refused", () => {
  const last = join(root, "work");
  const wanted = { root, option: undefined, variable: undefined, cwd: root, resolved: join(root, "volumes"), last };
  expect(() => settleWorkspace(wanted, () => {})).toThrow("is no folder here; nothing was changed");
  mkdirSync(last);
  expect(settleWorkspace(wanted, () => {})).toBe(last);
  expect(text()).toBe(`DEVBOX_WORKSPACE=${last}\n`);
  expect(settleWorkspace({ ...wanted, option: "." }, () => {})).toBe(root);
  expect(text()).toBe(`DEVBOX_WORKSPACE=${root}\n`);
});

test("where nothing was ever named nothing is written", () => {
  const resolved = join(root, "volumes");
  const wanted = { root, option: undefined, variable: undefined, cwd: root, resolved, last: undefined };
  expect(settleWorkspace(wanted, () => {})).toBe(resolved);
  expect(hasSetting(root, "DEVBOX_WORKSPACE")).toBe(false);
});
