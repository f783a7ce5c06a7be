/** Tests in which folder the stack is built: in the clone, or for an installed package in a folder beside our state. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { stackFolder } from "../../../src/devbox/folder.ts";
import { ROOT } from "../../../scripts/main.ts";

const folder = mkdtempSync(join(tmpdir(), "palace-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a clone of the repository is its own stack folder", () => {
  expect(stackFolder(ROOT, folder, true)).toBe(ROOT);
});

test("each build copies the whole package and keeps the user's settings", () => {
  const root = join(folder, "package");
  const put = (name: string, content = name): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  };
  const listed = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[] };
  // The package lists its man pages, but the image does not need them.
  const files = listed.files.filter((name) => !/^(!|docs\/)/.test(name));
  for (const name of files.filter((one) => one !== "dist")) put(name);
  expect(() => stackFolder(root, folder, true)).toThrow("this install has no package.json");
  for (const name of ["package.json", "README.md", "LICENSE", "dist/old.js", "dist/package-lock.data.json"]) put(name);
  const stack = stackFolder(root, folder, true);
  expect(readFileSync(join(stack, "package-lock.json"), "utf8")).toBe("dist/package-lock.data.json");
  expect(files.filter((name) => !existsSync(join(stack, name)))).toEqual([]);
  expect(readFileSync(join(stack, ".dockerignore"), "utf8")).toMatch(/^\*\n(![^\n]+\n)+$/);
  expect(readFileSync(join(stack, ".dockerignore"), "utf8")).not.toContain(".env");
  writeFileSync(join(stack, ".env"), "A=1");
  rmSync(join(root, "dist/old.js"));
  expect(stackFolder(root, folder, true)).toBe(stack);
  expect(readFileSync(join(stack, ".env"), "utf8")).toBe("A=1");
  expect(existsSync(join(stack, "dist/old.js"))).toBe(false);
});
