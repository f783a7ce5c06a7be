/** Reads vitest's JSON report into the numbers that test.ts adds up. Pure. */

export type Tally = Readonly<{
  passed: number;
  failed: number;
  /** What did not run, a line each. */
  leftOut: readonly string[];
}>;

export const NOTHING: Tally = { passed: 0, failed: 0, leftOut: [] };
export const LEFT_OUT_LINES_MAX = 40;

type Report = {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[];
};

/** `exitCode` is vitest's own: it also fails for errors outside of any test, which must count as one. */
export function readReport(json: string, exitCode: number): Tally {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(json) as Report;
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  const failed = numFailedTests + broken.length;
  return {
    passed: numPassedTests,
    failed: exitCode !== 0 && failed === 0 ? 1 : failed,
    leftOut: numPassedTests + failed + testResults.length === 0 ? ["it has no tests"] : skipped(testResults),
  };
}

/** A file that was skipped as a whole is one line. */
function skipped(files: Report["testResults"]): string[] {
  return files.flatMap(({ name, assertionResults }) => {
    const left = assertionResults.filter(({ status }) => ["skipped", "pending", "todo"].includes(status));
    const file = name.slice(name.lastIndexOf("/test/") + 1);
    if (left.length > 0 && left.length === assertionResults.length && left.length > 1)
      return [`${file}: all ${left.length} tests`];
    return left.map(({ fullName }) => `${file}: ${fullName}`);
  });
}

export function total(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, { passed, failed, leftOut }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      leftOut: [...sum.leftOut, ...leftOut],
    }),
    NOTHING,
  );
}
