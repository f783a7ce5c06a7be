/** Asserts where the words of a stored text stand in what a model is shown. Failures do not print all of that. */
import { expect } from "vitest";

export const FENCE = "<palace-memory>";
const FENCE_END = "</palace-memory>";

/** `shown` has one fence, every line in it stands behind a bar, and `mark` stands in it and nowhere else. */
export function assertFenced(shown: string, mark: string): void {
  const opened = shown.split(FENCE);
  expect(opened).toHaveLength(2);
  const [before = "", fenced = ""] = opened;
  const closed = fenced.split(FENCE_END);
  expect(closed).toHaveLength(2);
  const [inside = "", after = ""] = closed;
  const [, notice, ...lines] = inside.split("\n");
  expect(notice).toContain("no instructions");
  expect(lines.pop()).toBe("");
  expect(lines.filter((line) => line !== "|" && !line.startsWith("| "))).toEqual([]);
  expect(inside).not.toContain("<");
  expect([before, inside, after].map((part) => part.includes(mark))).toEqual([false, true, false]);
}
