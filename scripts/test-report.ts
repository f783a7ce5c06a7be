/** Reads vitest's JSON report into the numbers that test.ts adds up. */

export type Tally = Readonly<{
  passed: number;
  failed: number;
  /** Names of skipped tests, with the reason if there is one. */
  leftOut: readonly string[];
  /** Failed tests, each with its message on the lines below its name. */
  failures: readonly string[];
}>;

export const NOTHING: Tally = { passed: 0, failed: 0, leftOut: [], failures: [] };
const FAILURE_LINES_MAX = 12;
export const LEFT_OUT_LINES_MAX = 40;
export const FAILURES_SHOWN_MAX = 20;

type Report = {
  numPassedTests: number;
  numFailedTests: number;
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
};

/** Reads a report. If vitest's `exitCode` is not 0 although no test failed, counts one failure: an error outside of all tests. */
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
    failures: [
      ...(exitCode !== 0 && failed === 0 ? ["an error outside of every test; it is in the output above"] : []),
      ...broken.map(({ name, message = "" }) => describe(fileOf(name), message)),
      ...testResults.flatMap(({ name, assertionResults }) =>
        assertionResults
          .filter(({ status }) => status === "failed")
          .map(({ fullName, failureMessages = [] }) =>
            describe(`${fileOf(name)}: ${fullName}`, failureMessages.join("\n")),
          ),
      ),
    ],
  };
}

function describe(name: string, message: string): string {
  const lines = message.split("\n").filter((line) => line.trim() !== "");
  return [name, ...lines.slice(0, FAILURE_LINES_MAX).map((line) => `    ${line}`)].join("\n");
}

function fileOf(name: string): string {
  return name.slice(name.lastIndexOf("/test/") + 1);
}

function skipped(files: Report["testResults"]): string[] {
  return files.flatMap(({ name, assertionResults }) => {
    const left = assertionResults.filter(({ status }) => ["skipped", "pending", "todo"].includes(status));
    const file = fileOf(name);
    if (left.length > 0 && left.length === assertionResults.length && left.length > 1)
      return [`${file}: all ${left.length} tests`];
    return left.map(({ fullName }) => `${file}: ${fullName}`);
  });
}

export function total(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, { passed, failed, leftOut, failures }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      leftOut: [...sum.leftOut, ...leftOut],
      failures: [...sum.failures, ...failures],
    }),
    NOTHING,
  );
}

/** Counts each skipped test as a failure, for runs in which every test must run. */
export function withoutSkips(tally: Tally): Tally {
  const { passed, leftOut } = tally;
  const nothingRan = passed + tally.failed + leftOut.length === 0;
  const skips = (nothingRan ? ["all tests"] : leftOut).map((line) => `left out: ${line}`);
  return { passed, failed: tally.failed + skips.length, leftOut: [], failures: [...tally.failures, ...skips] };
}
