/** Tests command lines that must give no signal about tests, failures or reverts, and similar lines that must give one. */
import { expect, test } from "vitest";
import { readCommand, type Told } from "../../../src/agents/signal/command.ts";

function toldBy(line: string, exit: number, output = ""): Told {
  return readCommand(line, { exit, output });
}

const SAYS_NOTHING = { hasFailed: false, hasReverted: false };

/** Lines in which no test ran, or whose exit code may not come from the tests. */
test.each([
  ...[
    "set +o pipefail; npm test | tail",
    "false && set -o pipefail; npm test | tail",
    "set -o pipefail | npm test | tail",
  ],
  ...["set -o pipefail; set +o pipefail; npm test | tail", "set -- -o pipefail; npm test | tail", "set -n; npm test"],
  ...["trap 'exit 0' EXIT; npm test", "[[ a && npm test ]]", "exit 0; npm test", "exec true; npm test"],
  ...["eval 'exit 0'; npm test", "alias npm=true; npm test", "function npm { true; }; npm test", "{ npm test; }"],
  ...["if npm test; then true; fi", "for x in 1 2; do npm test; done", "while npm test; do break; done", "! npm test"],
  ...["time ! npm test", "hash -p /bin/true npm; npm test", "coproc npm test", "builtin exit 0; npm test"],
  ...["command exit 0; npm test", "return 0; npm test", "shopt -s x; npm test", "set -o noexec; npm test"],
  ...["echo $'it\\'s' && npm test '", "make -n test", "make -kn test", "make -q check", "make -t test", "make -i test"],
  ...["make --just-print test", "make -W test all", "make --dry test", "pytest --fixtures", "pytest --markers"],
  ...["pytest --collect-only", "pytest --co", "pytest --setup-plan", "pytest --cache-show", "pytest -h", "pytest -V"],
  ...["python -m pytest --co", "python x.py -m pytest", "python -c 'x' -m pytest", "tox -l", "tox --devenv x"],
  ...["tox --notest", "tox -a", "tox list", "tox -e lint", "tox config", "nox -l", "nox --install-only", "nox -s docs"],
  ...[
    "jest --showConfig",
    "jest --clearCache",
    "jest --listTests",
    "npx jest --init",
    "jest -v",
    "jest --passWithNoTests",
  ],
  ...["jest --findRelatedTests x", "jest -o --onlyChanged", "rspec --init", "rspec --dry-run", "rspec -v"],
  ...["phpunit --list-tests", "phpunit --list-suites", "phpunit --generate-configuration", "dotnet test --list-tests"],
  ...["dotnet test -t", "go test -c", "go test -n", "go test -list .", "go test -list=.", "go test -run '^$' ./..."],
  ...[
    "go test -run=NONE -bench .",
    "npm -v test",
    "npm test -v",
    "npm test -- -v",
    "npm test -- --help",
    "npx --help vitest",
  ],
  ...["npm run test --if-present", "npm run test:setup", "npm run test:watch", "yarn vitest list", "bunx vitest list"],
  ...[
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo nextest list",
    "cargo nextest show-config",
    "cargo nextest run --no-tests=pass",
  ],
  ...["vitest list", "vitest related x", "vitest --changed", "vitest --version", "mocha --list-files", "mocha -V"],
  ...[
    "ctest -N",
    "ctest --print-labels",
    "ctest --show-only=json-v1",
    "swift test list",
    "swift test -l",
    "rake -T test",
  ],
  ...["rake -n test", "gradle -m test", "gradle help --task test", "gradle check -x test", "gradle test -PskipTests"],
  ...[
    "mvn -v test",
    "mvn -fn test",
    "mvn test -Dmaven.test.failure.ignore",
    "mvn test -DfailIfNoTests=false",
    "mvn --fail-never test",
  ],
  ...[
    "node cli.js --test",
    "node --check scripts/test.js",
    "bash -n scripts/test.sh",
    "deno test --no-run",
    "deno task lint test",
  ],
  ...[
    "playwright test --list",
    "mix test --stale",
    "timeout --help npm test",
    "npx -v vitest",
    "go test -exec echo",
    "tox c",
    "ava debug",
    "./scripts/test --help",
    "./scripts/test --list",
  ],
])("%j with exit code 0 does not count as passed tests", (line) => {
  const told = toldBy(line, 0);
  expect(told).toMatchObject(SAYS_NOTHING);
  expect(told.tests ?? "unclear").toBe("unclear");
});

/** Lines in which no test failed. */
test.each([
  ...([
    ["pytest", 5],
    ["pytest", 4],
    ["pytest", 3],
    ["pytest", 2],
    ["python -m pytest", 5],
    ["uv run pytest x", 4],
  ] as const),
  ...([
    ["python -m unittest", 5],
    ["cargo nextest run", 4],
    ["cargo nextest run", 104],
    ["go test ./...", 2],
  ] as const),
  ...([
    ["npm test", 254],
    ["env -C nowhere npm test", 125],
    ["set -o pipefail; npm test | head -1", 141],
  ] as const),
  ...([
    ["cd nowhere && npm test", 1],
    ["set -e; cd nowhere; npm test", 1],
    ["npm test && pytest", 5],
    ["tox", 254],
  ] as const),
  ...([
    ["./test foo", 1],
    ["/usr/bin/test -f x", 1],
    ["/bin/test -f x", 1],
    ["../test x", 1],
    ["build/test", 1],
  ] as const),
  ...([
    ["target/debug/test", 1],
    ["node --test x", 9],
  ] as const),
  ...([
    ["pytest --collect-only", 2],
    ["make -n test", 2],
    ["vitest list", 1],
    ["jest --listTests", 1],
    ["pushd x && pytest", 1],
  ] as const),
])("%j with exit code %d counts neither as failed tests nor as a failed command", (line, exit) => {
  const told = toldBy(line, exit);
  expect(told).toMatchObject(SAYS_NOTHING);
  expect(told.tests ?? "unclear").toBe("unclear");
});

test.each([
  ["cd app && cargo test", 101],
  ["pytest", 1],
  ["cargo nextest run", 100],
  ["tox -e py312", 1],
  ["nox -s tests", 1],
  ["pytest --cov -k 'x' -l", 1],
  ["jest --collectCoverage --ci", 1],
  ["cargo test --no-fail-fast", 101],
  ["dotnet test --no-build -v q", 1],
  ["ctest -V", 8],
  ["./test.sh", 1],
  ["bin/test", 1],
  ["playwright test --reporter list", 1],
  ["jest config", 1],
  ["pytest c --strict-markers --ignore=x", 1],
  ["jest --testPathIgnorePatterns y", 1],
] as const)("%j with exit code %d counts as failed tests", (line, exit) => {
  expect(toldBy(line, exit).tests).toBe("failed");
  expect(toldBy(line, 0).tests).toBe("passed");
});

/** Lines that did not revert work, or that may not have reverted it. */
test.each([
  ...[
    "false && git restore x; true",
    "git restore x; true",
    "git restore x | cat",
    "git restore x &",
    "! git restore x",
  ],
  ...["git revert --no-commit HEAD && git revert --abort", "git revert HEAD && git revert HEAD", "git revert --help"],
  ...["git revert -n HEAD && git reset --hard", "git restore --help", "git restore -h", "git --help restore x"],
  ...[
    "git checkout other-branch -- file",
    "git checkout other .",
    "git checkout -b .",
    "git checkout -B x --",
    "git checkout -p .",
  ],
  ...["git restore --patch x", "git restore --source=other x", "git restore -s other x", "git checkout --theirs ."],
  ...["git checkout --ours -- x", "git checkout --orphan .", "git checkout -t .", "git checkout stash@{0} -- x"],
  ...[
    "git reset --hard @{u}",
    "git reset --hard HEAD@{1}",
    "git reset --hard @{upstream}",
    "git reset --hard FETCH_HEAD",
  ],
  ...[
    "git stash && git checkout . && git stash pop",
    "git commit -am x && git reset --hard HEAD",
    "exit 0; git restore x",
  ],
  ...[
    "git --git-dir=/x reset --hard",
    "git --version restore x",
    "if false; then git restore x; fi",
    "trap x EXIT; git restore x",
  ],
  ...[
    "git revert --skip",
    "git revert --quit",
    "git revert --continue",
    "[[ x && git restore y ]]",
    "git checkout origin/main .",
  ],
])("%j does not count as a revert", (line) => expect(toldBy(line, 0).hasReverted).toBe(false));

test.each([
  ...[
    "git restore --source=HEAD~1 x",
    "git restore -s HEAD x",
    "git restore -SW x",
    "git revert -m 1 abc1234 --no-edit",
  ],
  ...[
    "git checkout -f .",
    "git checkout HEAD~2 .",
    "git restore x && git status",
    "git revert -n HEAD && git commit -m x",
  ],
  ...["git status && git checkout -- x", "timeout 5 git restore x", "git checkout . && git clean -fd"],
])("%j counts as a revert", (line) => expect(toldBy(line, 0).hasReverted).toBe(true));

/** Lines whose exit code means "no", or is not known to mean a failure. */
test.each([
  ...([
    ["rg -q x && echo yes", 1],
    ["git merge-base --is-ancestor a b", 1],
    ["kill -0 1", 1],
  ] as const),
  ...([
    ["systemctl is-active x", 3],
    ["systemctl is-enabled x", 1],
    ["systemctl status x", 3],
    ["service x status", 3],
  ] as const),
  ...([
    ["[ -f x ] && npm run build", 1],
    ["test -d x && ls x && echo y", 1],
    ["set -e; grep x y; npm run build", 1],
  ] as const),
  ...([
    ["set -o pipefail; grep x y | sort", 1],
    ["git show-ref --verify -q x", 1],
    ["git rev-parse --verify x", 128],
  ] as const),
  ...([
    ["git ls-files --error-unmatch x", 1],
    ["git check-ignore x", 1],
    ["git config --get x", 1],
    ["git cat-file -e x", 128],
  ] as const),
  ...([
    ["git ls-remote --exit-code x", 2],
    ["git diff --quiet && echo same", 1],
    ["jq -e .x y", 1],
    ["jq -e .x y", 4],
  ] as const),
  ...([
    ["pidof x", 1],
    ["id x", 1],
    ["getent passwd x", 2],
    ["nc -z localhost 80", 1],
    ["curl -sf localhost", 7],
    ["ping -c1 x", 1],
  ] as const),
  ...([
    ["lsof -i :80", 1],
    ["pip show x", 1],
    ["npm ls x", 1],
    ["npm outdated", 1],
    ["docker image inspect x", 1],
  ] as const),
  ...([
    ["kubectl get pod x", 1],
    ["gh pr view", 1],
    ["ls nowhere", 2],
    ["stat x", 1],
    ["pg_isready", 2],
    ["dpkg -s x", 1],
  ] as const),
  ...([
    ["find . | xargs grep x", 123],
    ["sudo systemctl is-active x", 3],
    ["timeout 5 grep x y", 1],
    ["expr 0", 1],
  ] as const),
  ...([
    ["set -o pipefail; yes | head", 141],
    ["if grep x y; then false; fi", 1],
    ["[[ -f x ]]", 1],
    ["{ false; }", 1],
  ] as const),
  ...([
    ["pkill -f x", 1],
    ["printenv X", 1],
    ["tmux has-session -t x", 1],
    ["cat nofile", 1],
    ["bash -c 'grep x y'", 1],
    ["ssh h test -f x", 1],
    ["docker exec c test -f x", 1],
    ["git remote get-url x", 2],
    ["python -c 'x'", 1],
    ["read x", 1],
    ["terraform plan -detailed-exitcode", 2],
    ["git branch --contains x", 1],
    ["exit 3", 3],
    ["false", 1],
    ["mountpoint -q x", 32],
    ["time ! grep x y", 1],
    ["rg x || rg y", 1],
    ["rpm -q x", 1],
  ] as const),
])("%j with exit code %d does not count as a failed command", (line, exit) => {
  expect(toldBy(line, exit)).toEqual({ tests: undefined, ...SAYS_NOTHING });
});

test.each([
  ["tsc && echo ok", 2],
  ["grep x y; npm run build", 1],
  ["prettier --check .", 1],
  ["git push", 1],
  ["cd app && npm run lint", 1],
  ["docker build .", 1],
  // The names of these programs do not prove that they are tests.
  ["./test.js", 1],
  ["python test.py", 1],
  ["node test.js", 1],
] as const)("%j with exit code %d counts as a failed command", (line, exit) => {
  expect(toldBy(line, exit)).toMatchObject({ tests: undefined, hasFailed: true });
});

test("long lines of any text are read within half a second of processor time", () => {
  for (const part of [
    "-A",
    " -a-B.c_d",
    " --no",
    "git restore x && ",
    "set -e; ",
    "${",
    "if ",
    "cd x;",
    " -m",
    " ./test/",
  ]) {
    const started = process.threadCpuUsage();
    for (const start of ["", "npm test ", "git restore ", "pytest -", "tox -e "])
      for (const exit of [0, 1])
        toldBy(start + part.repeat(Math.floor(3_900 / part.length)), exit, part.repeat(10_000));
    expect(process.threadCpuUsage(started).user, part).toBeLessThan(500_000);
  }
});
