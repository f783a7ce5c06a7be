import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TOPOLOGIES } from "../topology/requirements.ts";
import { ROOT } from "./source-files.ts";

const FOLDER = join(ROOT, "docs/topologies");
const pages = readdirSync(FOLDER).map((name) => ({ name, text: readFileSync(join(FOLDER, name), "utf8") }));
const index = pages.find(({ name }) => name === "README.md")?.text ?? "";

test("every line of the threat table names an existing test, with the test's title if its file has several tests", () => {
  const [, table = ""] = index.split("| Threat | Answer | Test |\n|---|---|---|\n");
  const rows = table.trim().split("\n");
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) {
    const cell = row.split("|").at(-2) ?? "";
    const named = [...cell.matchAll(/`(test\/[\w/.-]+\.test\.ts)`(?:: "([^"]+)")?/g)];
    expect(named.length, row).toBeGreaterThan(0);
    for (const [, file = "", title = ""] of named) {
      expect(existsSync(join(ROOT, file)), `${file}: ${row}`).toBe(true);
      expect(readFileSync(join(ROOT, file), "utf8"), row).toContain(title);
    }
  }
});

test("a page in docs/topologies mentions each topology of the topology tests", () => {
  for (const topology of TOPOLOGIES)
    expect(
      pages.some(({ name, text }) => name !== "README.md" && text.includes(`\`${topology}\``)),
      topology,
    ).toBe(true);
});
