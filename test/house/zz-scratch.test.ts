import { test } from "vitest";
// TODO remove
test.only("x", () => {});
test.skip("y", () => {});
