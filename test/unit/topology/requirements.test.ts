/** Nothing in the list of requirements is without a proof, and no scenario of the grid without a requirement. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../helpers/palace.ts";
import { SCENARIOS } from "../../topology/grid/scenarios.ts";
import { REQUIREMENTS } from "../../topology/requirements.ts";

test("each requirement is a scenario of the grid or is shown by a test that exists", () => {
  const unproved = REQUIREMENTS.filter(({ id, shownBy }) =>
    shownBy === undefined ? SCENARIOS[id] === undefined : !existsSync(join(ROOT, shownBy)),
  );
  expect(unproved.map(({ id }) => id)).toEqual([]);
  expect(Object.keys(SCENARIOS).filter((id) => !REQUIREMENTS.some((one) => one.id === id))).toEqual([]);
  expect(new Set(REQUIREMENTS.map(({ id }) => id)).size).toBe(REQUIREMENTS.length);
});
