/** Tests the sentences of status and doctor about work in the background. They appear only if there is work. */
import { expect, test } from "vitest";
import { describeErasure, describeLag, describeReranker } from "../../../src/cli/report/describe.ts";

const driver = { kind: "files", state: "waiting", detail: "" } as const;

test("status shows the lag with its age, and hides a lag of 0", () => {
  expect(describeLag({ ...driver, lag: 0, lagMs: 5_000 })).toBe("");
  expect(describeLag({ ...driver, lag: 1, lagMs: 0 })).toBe(", 1 drawer behind");
  expect(describeLag({ ...driver, lag: 2, lagMs: 5_000 })).toBe(", 2 drawers behind for 5 s");
});

test("status describes an unfinished erasure with its problems", () => {
  expect(describeErasure(undefined)).toBeUndefined();
  expect(describeErasure({ pending: 0, problems: [], notes: ["n"] })).toBeUndefined();
  expect(describeErasure({ pending: 1, problems: [], notes: [] })).toBe("1 erasure not finished in every file");
  expect(describeErasure({ pending: 2, problems: ["a", "b"], notes: [] })).toBe(
    "2 erasures not finished in every file: a; b",
  );
});

test("status shows only a configured cross-encoder", () => {
  const search = { mode: "hybrid", vectors: "local", model: "m", modelState: "ready", modelDetail: "" } as const;
  const rest = { ...search, embedded: 0, pending: 0 };
  expect(describeReranker(rest)).toBeUndefined();
  expect(describeReranker({ ...rest, reranker: { state: "off", detail: "d" } })).toBeUndefined();
  expect(describeReranker({ ...rest, reranker: { state: "failed", detail: "d" } })).toBe("failed: d");
});
