/** Tests what a command line and its exit code tell us: whether tests ran, what failed, and whether work was reverted. */
import { expect, test } from "vitest";
import { GROWTH_MAX, growthOf } from "../../helpers/cpu-time.ts";
import { readCommand, type Told } from "../../../src/agents/signal/command.ts";
import { readCommands } from "../../../src/agents/signal/shell.ts";

function toldBy(line: string, exit: number, output = ""): Told {
  return readCommand(line, { exit, output });
}

/** Command lines that exit with the exit code of their tests. */
const TESTS = [
  "vitest run",
  "npx vitest run test/unit",
  "npx --yes jest --ci",
  "node_modules/.bin/vitest run --project unit",
  "npm test",
  "npm t",
  "npm run test",
  "npm run test:unit -- --reporter=dot",
  "npm --prefix app test",
  "npm exec -- vitest run",
  "pnpm -r test",
  "pnpm --filter web test:unit",
  "pnpm exec mocha",
  "yarn test",
  "yarn workspace web test",
  "yarn vitest",
  "bun test",
  "bun run test",
  "node --test",
  "node --import tsx --test test/*.ts",
  "pytest -q tests/test_x.py",
  ".venv/bin/pytest",
  "python -m unittest discover",
  "python3 -W ignore -m pytest",
  "python manage.py test app",
  "uv run pytest",
  "poetry run python -m pytest",
  "cargo test --workspace",
  "cargo +nightly nextest run",
  "go test ./...",
  "make test",
  "make -j 4 check",
  "ctest --output-on-failure",
  "mvn -q test",
  "./mvnw verify",
  "./gradlew :app:test",
  "dotnet test",
  "bundle exec rspec",
  "go -C app test ./...",
  "python3.12 -m pytest",
  "tox -p auto",
  "tox -p auto -e py312",
  "vendor/bin/phpunit",
  "deno test -A",
  "./scripts/test",
  "bash scripts/test.sh --fast",
  "cd app; CI=1 NODE_ENV=test npm test",
  "export CI=1 && npm test",
  "echo tests && npm test",
  "(cd app; npm test)",
  "env -u X CI=1 timeout -k 5 300 npx vitest run",
  "# all of them\nnpm test 2>&1",
  "npm test > out.log 2>&1",
  'npm test -- -t "a && b | c"',
  "set -o pipefail; npm test 2>&1 | tail -20",
  "set -euo pipefail\nnpm test | tee log",
  "npm \\\n  test",
];

test.each(TESTS)("%j runs tests and exits with the exit code of the tests", (line) => {
  expect(toldBy(line, 0)).toEqual({ tests: "passed", hasFailed: false, hasReverted: false });
  expect(toldBy(line, 1)).toEqual({ tests: "failed", hasFailed: false, hasReverted: false });
  // The exit code of a command that was not found, was killed or timed out says nothing about the tests.
  for (const exit of [124, 127, 137]) expect(toldBy(line, exit).tests).toBe("unclear");
});

/** Command lines with tests, but with an exit code that may come from another command. */
const UNCLEAR = [
  "npm test || true",
  "npm test | tail -5",
  "npm test 2>&1 |& grep FAIL",
  "npm test; echo done",
  "npm test\necho $?",
  "npm test &",
  "[ -d x ] || npm test",
  "set -o pipefail; npm test | tail || exit 0",
];

test.each(UNCLEAR)("%j runs tests and does not exit with the exit code of the tests", (line) => {
  for (const exit of [0, 1]) expect(toldBy(line, exit)).toMatchObject({ tests: "unclear", hasFailed: false });
});

test.each([
  ...["npm run build && npm test", "npm test && git push", "set -e; npm run build; npm test"],
  ...["cd nowhere && npm test", "(cd app && npm test)", "set -e; cd app; npm test", "source env.sh && npm test"],
  ...["npm test > no/where/log", "npm test < given", "set -o pipefail; npm test | head -1", "set -u; npm test $X"],
  ...["npm test ${X:?}", "mkdir x/y && npm test", "set -o pipefail; cat given | npm test", "npm test && tee a/b"],
])("%j with exit code 0 means passed tests, and with exit code 1 the tests' result is unclear", (line) => {
  expect([toldBy(line, 0).tests, toldBy(line, 1).tests]).toEqual(["passed", "unclear"]);
});

const CD_FAILED = "bash: line 1: cd: app: No such file or directory\n";

test.each([
  ["cd app && npm test", "1 failing\n", "failed"],
  ["set -e; cd app; npm test", "1 failing\n", "failed"],
  ["(mkdir -p app && cd app && npm test)", "1 failing\n", "failed"],
  ["cd app && npm test", "", "unclear"],
  ["cd app && npm test", "(no output)", "unclear"],
  ["cd app && npm test", "\nShell cwd was reset to /work", "unclear"],
  ["cd app && npm test", CD_FAILED, "unclear"],
  ["echo go && cd app 2>/dev/null && npm test", "go\n", "unclear"],
  ["npm test && cd app 2>/dev/null", "1 passing\n", "unclear"],
  ["cd app && npm run build && npm test", "1 error\n", "unclear"],
] as const)("if %j exits with 1 and prints %j, its tests count as %s", (line, output, tests) => {
  expect(toldBy(line, 1, output).tests).toBe(tests);
});

/** Command lines that run no tests. */
const NONE = [
  "npm install jest",
  "yarn add vitest",
  "pip install pytest",
  "which pytest",
  "command -v pytest",
  "pytest --version",
  "pytest --collect-only -q",
  "vitest list",
  "cargo test --no-run",
  "cargo run test",
  "go vet ./test",
  "make -C test all",
  "gradle build -x test",
  "mvn package -DskipTests test",
  "python -m venv test",
  "test -f package.json",
  "[ -f test ]",
  'echo "npm test"',
  "grep -r 'npm test' .",
  "git commit -m 'vitest; npm test'",
  "cat test/test.txt",
  "rm -rf test",
  "bash -c 'ls x/test'",
  "npm run lint",
  "npm run testify",
  "constructor toString",
];

test.each(NONE)("%j runs no tests", (line) => expect(toldBy(line, 0).tests).toBeUndefined());

test.each([
  ["npm run build", 2, true],
  ["cd app && tsc", 1, true],
  ["nonesuch", 127, true],
  ["npm run build", 0, false],
  ["sleep 900", 143, false],
  ["grep -r word .", 1, false],
  ["grep -r word .", 2, true],
  ["cat log | grep FAIL", 1, false],
  ["git diff --exit-code", 1, false],
  ["test -f x", 1, false],
  ["! npm run build", 1, false],
  ["cat <<EOF\nnpm test\nEOF", 1, false],
] as const)("%j with exit code %d counts as a failed command: %s", (line, exit, hasFailed) => {
  expect(toldBy(line, exit)).toMatchObject({ tests: undefined, hasFailed });
});

test.each([
  ["git revert --no-edit abc1234", true],
  ["git restore src/x.ts", true],
  ["git -C app restore .", true],
  ["git -c core.pager=cat checkout -- src/x.ts", true],
  ["git checkout .", true],
  ["git reset --hard", true],
  ["git reset --hard HEAD~1", true],
  ["git reset --hard abc1234def", true],
  ["cd app && git --no-pager checkout HEAD -- x", true],
  ["git revert --abort", false],
  ["git restore --staged x", false],
  ["git checkout -b topic", false],
  ["git checkout main", false],
  ["git reset --soft HEAD~1", false],
  ["git reset --hard origin/main", false],
  ["git diff --quiet || git checkout .", false],
  ["echo git checkout .", false],
] as const)("%j counts as a revert: %s", (line, hasReverted) => {
  expect(toldBy(line, 0).hasReverted).toBe(hasReverted);
  expect(toldBy(line, 128).hasReverted).toBe(false);
});

test.each([
  "npm test $(cat x)",
  "npm test `x`",
  "npm test <<< x",
  "if true; then (npm test); fi",
  "npm test 'x",
  'npm test "$(x)"',
  "",
])("%j is too complex and gives no signal", (line) => {
  expect(readCommands(line)).toBeUndefined();
  expect(toldBy(line, 1)).toEqual({ tests: undefined, hasFailed: false, hasReverted: false });
});

test("a command line is read in linear time", () => {
  for (const part of ["a ", "'", '"\\', "((", "&&", "| ", "> ", "2>&1 ", "x=1 ", "time ", "npm exec ", "\\\n", "#\n"]) {
    for (const times of [199, 50_000])
      expect(
        growthOf((size) => toldBy(`npm test ${part.repeat(size)}`, 1), times),
        part,
      ).toBeLessThan(GROWTH_MAX);
    expect(
      growthOf((size) => toldBy(part.repeat(size), 0), 199),
      part,
    ).toBeLessThan(GROWTH_MAX);
  }
});
