import { expect, test } from "vitest";
import { readReport, total, withoutSkips } from "../../../scripts/test-report.ts";

const file = (name: string, ...statuses: string[]) => ({
  name: `/somewhere/test/${name}`,
  status: statuses.includes("failed") ? "failed" : "passed",
  assertionResults: statuses.map((status, index) => ({ status, fullName: `claim ${index}` })),
});

const report = (numPassedTests: number, numFailedTests: number, ...testResults: ReturnType<typeof file>[]): string =>
  JSON.stringify({ numPassedTests, numFailedTests, testResults });

test("the test report counts passed and failed tests", () => {
  expect(readReport(report(2, 1, file("a", "passed", "passed", "failed")), 1)).toEqual({
    passed: 2,
    failed: 1,
    leftOut: [],
    failures: ["test/a: claim 2"],
  });
});

test("the test report shows a failure with the first lines of its message", () => {
  const message = ["AssertionError: expected 1 to be 2", "", ...Array.from({ length: 30 }, (_, n) => `at ${n}`)];
  const failed = { status: "failed", fullName: "holds", failureMessages: [message.join("\n")] };
  const file = { name: "/x/test/unit/a.test.ts", status: "failed", assertionResults: [failed] };
  const [failure] = readReport(
    JSON.stringify({ numPassedTests: 0, numFailedTests: 1, testResults: [file] }),
    1,
  ).failures;
  const lines = failure?.split("\n") ?? [];
  expect(lines.slice(0, 3)).toEqual([
    "test/unit/a.test.ts: holds",
    "    AssertionError: expected 1 to be 2",
    "    at 0",
  ]);
  expect(lines.length).toBeLessThan(20);
});

test("a file that does not load counts as one failure", () => {
  const broken = { ...file("a"), status: "failed" };
  expect(readReport(report(0, 0, broken), 1)).toMatchObject({ passed: 0, failed: 1 });
});

test("an error outside of all tests counts as one failure", () => {
  const { passed, failed, failures } = readReport(report(3, 0, file("a", "passed", "passed", "passed")), 1);
  expect({ passed, failed, failures: failures.length }).toEqual({ passed: 3, failed: 1, failures: 1 });
});

test("the test report names skipped tests, and names a skipped file in one line", () => {
  const some = file("unit/some.test.ts", "passed", "skipped");
  const none = file("unit/none.test.ts", "skipped", "pending");
  expect(readReport(report(1, 0, some, none), 0).leftOut).toEqual([
    "test/unit/some.test.ts: claim 1",
    "test/unit/none.test.ts: all 2 tests",
  ]);
});

test("the test report names a suite without tests", () => {
  expect(readReport(report(0, 0), 0)).toEqual({ passed: 0, failed: 0, leftOut: ["it has no tests"], failures: [] });
});

test("the test report adds up the numbers of several suites", () => {
  const one = { passed: 1, failed: 2, leftOut: ["a"], failures: ["b"] };
  expect(total([one, one])).toEqual({ passed: 2, failed: 4, leftOut: ["a", "a"], failures: ["b", "b"] });
});

test("if all tests must run, a skipped test counts as a failure", () => {
  const { failed, leftOut, failures } = withoutSkips(
    readReport(report(2, 0, file("a", "passed", "passed", "skipped")), 0),
  );
  expect({ failed, leftOut, failures }).toEqual({ failed: 1, leftOut: [], failures: ["left out: test/a: claim 2"] });
});

test("if all tests must run, a report without tests counts as a failure", () => {
  const whole = readReport(report(1, 0, file("a", "passed")), 0);
  expect(withoutSkips(whole)).toEqual(whole);
  expect(withoutSkips(readReport(report(0, 0), 0)).failed).toBe(1);
});
