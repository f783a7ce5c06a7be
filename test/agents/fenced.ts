/** Asserts that a stored text appears only inside the fence. A failure does not print the whole text. */
import { expect } from "vitest";

export const FENCE = "<palace-memory>";
const FENCE_END = "</palace-memory>";

/** Asserts that `shown` has one fence, that every line in it begins with a bar, and that `mark` occurs only inside it. */
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
