import { expect, test } from "vitest";
import { readReport, total } from "../../../scripts/test-report.ts";

const file = (name: string, ...statuses: string[]) => ({
  name: `/somewhere/test/${name}`,
  status: statuses.includes("failed") ? "failed" : "passed",
  assertionResults: statuses.map((status, index) => ({ status, fullName: `claim ${index}` })),
});

const report = (numPassedTests: number, numFailedTests: number, ...testResults: ReturnType<typeof file>[]): string =>
  JSON.stringify({ numPassedTests, numFailedTests, testResults });

test("passed and failed tests are counted", () => {
  expect(readReport(report(2, 1, file("a", "passed", "passed", "failed")), 1)).toEqual({
    passed: 2,
    failed: 1,
    leftOut: [],
  });
});

test("a file that does not even load is one failure", () => {
  const broken = { ...file("a"), status: "failed" };
  expect(readReport(report(0, 0, broken), 1)).toMatchObject({ passed: 0, failed: 1 });
});

test("an error outside of every test is one failure", () => {
  expect(readReport(report(3, 0, file("a", "passed", "passed", "passed")), 1)).toMatchObject({ passed: 3, failed: 1 });
});

test("a skipped test is named, and a file skipped as a whole is one line", () => {
  const some = file("unit/some.test.ts", "passed", "skipped");
  const none = file("unit/none.test.ts", "skipped", "pending");
  expect(readReport(report(1, 0, some, none), 0).leftOut).toEqual([
    "test/unit/some.test.ts: claim 1",
    "test/unit/none.test.ts: all 2 tests",
  ]);
});

test("a suite without a single test says so", () => {
  expect(readReport(report(0, 0), 0)).toEqual({ passed: 0, failed: 0, leftOut: ["it has no tests"] });
});

test("the numbers of several suites add up", () => {
  const one = { passed: 1, failed: 2, leftOut: ["a"] };
  expect(total([one, one])).toEqual({ passed: 2, failed: 4, leftOut: ["a", "a"] });
});
