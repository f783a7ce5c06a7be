/** Compares our reading of command lines with a real bash, on seeded lines of commands, operators and quotes. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { readCommand } from "../../../src/agents/signal/command.ts";
import { seededRandom } from "../../helpers/random.ts";

const LINES = 1_500;
const TEST = "npm test";
const PIECES = [
  ...[TEST, TEST, TEST, "X=1 npm test 2>&1", "npm test -- 'a && b'", "! npm test", "(npm test)", "npm test >/dev/null"],
  ...["npm run build", "npm run build", "true", "false", "cd /", "echo x", "cat", "tail -1", "# words", "set +e"],
  ...[
    "set +o pipefail",
    "set -o pipefail",
    "trap 'exit 0' EXIT",
    "[[ a && npm test ]]",
    "if npm test; then true; fi",
    "exit 0",
  ],
  ...[
    "exec true",
    "{ npm test; }",
    "function npm { true; }",
    "eval 'exit 0'",
    "set -n",
    "cd /nowhere",
    "cd /nowhere 2>/dev/null",
    "npm test >/no/where",
  ],
  ...["git restore x", "false && git restore x", "echo $'it\\'s' && npm test '"],
];
const OPERATORS = [" && ", " && ", " || ", " | ", " | ", "; ", "\n", " |& ", " && \\\n", " &\n"];
const STARTS = ["", "", "", "set -o pipefail; ", "set -e\n", "set -euo pipefail; ", "("];

type Run = { line: string; testExit: number; buildExit: number };

function runs(seed: number): Run[] {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  return Array.from({ length: LINES }, () => {
    const start = pick(STARTS);
    let line = start + pick(PIECES);
    for (let more = Math.floor(random() * 4); more > 0; more--) line += pick(OPERATORS) + pick(PIECES);
    return { line: start === "(" ? `${line})` : line, testExit: pick([0, 1, 3]), buildExit: pick([0, 2]) };
  });
}

/** Separates the three parts of a result: counted tests and reverts, printed output, exit code. */
const END = "\u001e";

/** Runs each line in its own shell. Returns the line's exit code, its output, and how often its tests and reverts ran. */
function inBash(all: readonly Run[]): { exit: number; output: string; tests: number; reverts: number }[] {
  const git = "git() { case $1 in restore) echo r >&9; return $B;; esac; }";
  const npm = `npm() { case $1 in test) echo t >&9; echo tested; return $T;; *) echo built; return $B;; esac; }`;
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const script = all.map(
    ({ line, testExit, buildExit }) =>
      `n=$( { o=$( ( T=${testExit}; B=${buildExit}; eval ${quoted(line)} ) 9>&8 2>&1 </dev/null; echo "${END}$?" ); } 8>&1; echo "${END}$o"); printf '%s\\0' "$n"`,
  );
  const output = execFileSync("bash", ["-s"], { input: [git, npm, ...script, ""].join("\n"), encoding: "utf8" });
  return output
    .split("\0")
    .slice(0, -1)
    .map((told) => {
      // Background commands may print after the line ended.
      const [marks = "", printed = "", ended = ""] = told.split(END);
      const [exit = ""] = /^\d+/.exec(ended) ?? [];
      return {
        ...{ exit: Number(exit), output: printed + ended.slice(exit.length) },
        ...{ tests: marks.split("t").length - 1, reverts: marks.split("r").length - 1 },
      };
    });
}

test("a signal reports tests as passed or failed only if bash ran them with that result", { timeout: 60_000 }, () => {
  const all = runs(20_261_126);
  const done = inBash(all);
  expect(done).toHaveLength(LINES);
  const counts = { passed: 0, failed: 0, unclear: 0, none: 0 };
  for (const [at, { line, testExit, buildExit }] of all.entries()) {
    const { exit, output, tests, reverts } = done[at] ?? expect.fail();
    const told = readCommand(line, { exit, output });
    const seen = JSON.stringify({ line, testExit, buildExit, exit, output, tests, reverts, told });
    if (told.tests === "passed") expect(tests > 0 && testExit === 0, seen).toBe(true);
    if (told.tests === "failed") expect(tests > 0 && testExit !== 0, seen).toBe(true);
    if (told.hasReverted) expect(reverts > 0 && buildExit === 0, seen).toBe(true);
    // A line that has only the test command always gives a result.
    if (line === TEST) expect(told.tests, seen).toBe(testExit === 0 ? "passed" : "failed");
    if (told.hasFailed) expect(exit, seen).not.toBe(0);
    counts[told.tests ?? "none"] += 1;
  }
  for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(LINES / 50);
});
