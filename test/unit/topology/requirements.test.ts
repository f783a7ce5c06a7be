/** Checks that every requirement has a proof, and that every scenario of the grid has a requirement. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../helpers/palace.ts";
import { LONGEST } from "../../longest-first.ts";
import { QUICK_PROCESS } from "../../quick.ts";
import { SCENARIOS } from "../../topology/grid/scenarios.ts";
import { REQUIREMENTS, TOPOLOGIES } from "../../topology/requirements.ts";

test("each requirement of the grid has a scenario in the grid or names an existing test", () => {
  const unproved = REQUIREMENTS.filter(({ id, shownBy }) =>
    shownBy === undefined ? SCENARIOS[id] === undefined : !existsSync(join(ROOT, shownBy)),
  );
  expect(unproved.map(({ id }) => id)).toEqual([]);
  expect(Object.keys(SCENARIOS).filter((id) => !REQUIREMENTS.some((one) => one.id === id))).toEqual([]);
  expect(new Set(REQUIREMENTS.map(({ id }) => id)).size).toBe(REQUIREMENTS.length);
});

test("each topology is in exactly one file of the grid", () => {
  const folder = join(ROOT, "test/topology/grid");
  const files = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
  const listed = files.flatMap((name) =>
    [...readFileSync(join(folder, name), "utf8").matchAll(/"([a-z-]+)"/g)].map(([, topology]) => topology),
  );
  expect(listed.sort()).toEqual([...TOPOLOGIES].sort());
});

test("each file in the list of test files that run first exists", () => {
  expect([...LONGEST, ...QUICK_PROCESS].filter((name) => !existsSync(join(ROOT, "test", name)))).toEqual([]);
});
