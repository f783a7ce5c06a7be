import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pages } from "../../scripts/docs.ts";
import { DIFFERENCES } from "../differential/differences.ts";
import { ROOT } from "./source-files.ts";

test("docs/lab/differences.md is what scripts/docs.ts writes", () => {
  const page = readFileSync(join(ROOT, "docs/lab/differences.md"), "utf8");
  expect(page, "run: node scripts/docs.ts").toBe(pages()["docs/lab/differences.md"]);
});

test("each accepted difference from MemPalace has a unique name, a description, a reason and a version", () => {
  expect(new Set(DIFFERENCES.map(({ name }) => name)).size).toBe(DIFFERENCES.length);
  for (const { what, why, versions } of DIFFERENCES) {
    expect(Math.min(what.length, why.length)).toBeGreaterThan(20);
    expect(versions).not.toEqual([]);
  }
});
