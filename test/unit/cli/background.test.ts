/** What status and doctor say of work in the background: something where there is something to say, and no more than is known. */
import { expect, test } from "vitest";
import { describeErasure, describeLag, describeReranker } from "../../../src/cli/report/background.ts";

const driver = { kind: "files", state: "waiting", detail: "" } as const;

test("a lag is told with its age where that is known", () => {
  expect(describeLag({ ...driver, lag: 0, lagMs: 5_000 })).toBe("");
  expect(describeLag({ ...driver, lag: 1, lagMs: 0 })).toBe(", 1 drawer behind");
  expect(describeLag({ ...driver, lag: 2, lagMs: 5_000 })).toBe(", 2 drawers behind for 5 s");
});

test("a forgetting that is not in every file yet is told, with what is in its way", () => {
  expect(describeErasure(undefined)).toBeUndefined();
  expect(describeErasure({ pending: 0, problems: [], notes: ["n"] })).toBeUndefined();
  expect(describeErasure({ pending: 1, problems: [], notes: [] })).toBe("1 forgetting not yet out of every file");
  expect(describeErasure({ pending: 2, problems: ["a", "b"], notes: [] })).toBe(
    "2 forgettings not yet out of every file: a; b",
  );
});

test("a cross-encoder is told of where there is one, or should be", () => {
  const search = { mode: "hybrid", vectors: "local", model: "m", modelState: "ready", modelDetail: "" } as const;
  const rest = { ...search, embedded: 0, pending: 0 };
  expect(describeReranker(rest)).toBeUndefined();
  expect(describeReranker({ ...rest, reranker: { state: "off", detail: "d" } })).toBeUndefined();
  expect(describeReranker({ ...rest, reranker: { state: "failed", detail: "d" } })).toBe("failed: d");
});
