/** Recognises commands that run tests: the commands of a table, and the commands that the user has named. */
import { type Command, commandOf, options } from "./shell.ts";

/** Matches a package's test script: `test:unit`, not `test:setup`. */
const NAME = String.raw`test(?!\S*[:-](?:${[
  "setup|install|prepare|build|compile|clean|types|typecheck|lint|format|watch|serve|server|list|init",
  "report|deps|seed|db|reset|up|down|start|stop|debug|ui|help",
].join("|")})(?:[ :-]|$))(?:[:-]\S*)?`;
/** Matches `./scripts/test`, `run_tests.sh`; not the shell's `/usr/bin/test`, nor `./test`, which may be any program. */
const FILE = [
  String.raw`(?:\S*/)?test(?:\.[^/ ]*)?\.sh`,
  String.raw`(?:\S*/|(?=\S*\.))(?:tests|run[_-]?tests)(?:\.[^/ ]*)?`,
  String.raw`(?!/\S*bin/test)(?:\S*/)?(?:scripts?|bin|tools|ci|dev|hack)/test(?:\.[^/ ]*)?`,
].join("|");
/** Matches `tox` without arguments and `tox -p auto -e py312`, not `tox -e lint`. */
const TOX = String.raw`|--|(?:run|r|-p auto|-p \d+)(?!.* -e )|(?:(?:run|r|-p \S+) )*(?:-[es]|--sessions?) \S*(?:py|test|unit)\S*`;
const after = (before: string, what: string): RegExp => new RegExp(`^${before} (?:${what})(?: |$)`);
const OPTIONS = options(
  String.raw`--prefix|-C|--dir|--cwd|-w|--workspace|--filter|-F|workspace|-r(?= \S*/)|--require|--import|--loader|--env-file|-[WX]`,
);
const WORDS = options("-[CfjxpWoIl]|--directory|--file|--task", "");

/**
 * Each row has up to four texts: programs; arguments that run tests ("" means any, and after `...` they may be at any place); options that
 * run no tests (`-[hv]` means `-h` or `-v`, also among other letters); exit codes that do not mean a failed test.
 */
const RUNNERS = [
  ["vitest jest rspec", "", "-[hv]"],
  ["mocha ava nose2 phpunit", "", "-V"],
  ["pytest py.test", "", "-V", "2 3 4 5"],
  ["ctest", "", "-N -S -T -M -D --build-and-test"],
  ["tox nox", TOX, "-[hlan]", "254 255"],
  ["go", "test", "-c -n -exec", "2"],
  ["cargo", "test|nextest run", "-V", "4 104"],
  ["deno", `test|task ${NAME}`, "-V"],
  ["swift", "test(?! list)", "-l"],
  ["dotnet", "test", "-t"],
  ["mix flutter dart composer rails playwright", "test", "-V"],
  ["rake", "test|spec", "-[nADHPTVW]"],
  ["make gmake", "...tests?|check", "-[hvnqtpi]"],
  ["gradle gradlew", "...test|check", "-v -m -x --exclude-task help tasks properties"],
  ["mvn mvnw", "...test|verify", "-v -fn"],
  ["npm", `run(?:-script)?${OPTIONS} ${NAME}|test|t|tst`, "-[hvV]", "254 255"],
  ["pnpm yarn bun", `(?:run${OPTIONS} )?${NAME}`, "-[hvV]"],
  ["node", `--test|${FILE}`, "-v -c -e -p --check --eval", "9"],
  ["python", `-m (?:pytest|unittest|nose2)|manage.py test|${FILE}`, "-c -V", "2 3 4 5"],
  ["bash sh zsh bun", FILE, "-[hnc]"],
].map(([programs = "", words = "", shows = "", codes = ""]) => ({
  names: programs.split(" "),
  hasAny: words === "",
  runs: words.startsWith("...") ? after(WORDS, String.raw`(?:\S*:)?(?:${words.slice(3)})`) : after(OPTIONS, words),
  shows: shows.split(" ").map((one) => new RegExp(one.endsWith("]") ? `^-\\w*${one.slice(1)}` : `^${one}$`)),
  codes: codes.split(" ").map(Number),
}));
/** Matches first arguments that run no tests, for the runners that accept any argument. */
const OTHER = after(OPTIONS, "help|list|init|bench|related|debug|reset-cache");
const IS_FILE = new RegExp(`^(?:${FILE})(?: |$)`);
/** Matches options that list, show or prepare tests, or pass without any test: `--collect-only`, `--listTests`, `-run '^$'`. */
const SHOWS = new RegExp(
  `^(?:(?:-run=)?(?:\\^\\$|none)|-(?:[h?]|[dp].*(?:skip|ignore|failifno).*|-?markers|(?:[^=]*[-_.:])?(?:${[
    "help|versions?|lists?|listenvs|show|showconfig|print|describe|explain|tasks|dry|dryrun|just|recon|question|touch|what|where",
    "prereqs|plan|only|co|fixtures|funcargs|init|clear|generate|migrate|warm|merge|devenv|notests?|bench|archive",
    "changed|related|stale|present|never|no-run|no-tests?|no-files|exit-zero|exit-code|ignore-errors|ignore-failures",
  ].join("|")})(?:[-_.:=].*)?))$`,
);

/** A test command. `runs`: false if it only lists, shows or prepares tests. `codes`: exit codes that do not mean a failed test. */
export type TestCommand = Readonly<{ runs: boolean; codes: readonly number[] }>;

/** Returns the test command; undefined for other commands. `named`: beginnings of the user's own test commands. */
export function testOf({ prefix, call, name, args }: Command, named: readonly string[]): TestCommand | undefined {
  const known = name.replace(/^python[\d.]+$/, "python");
  const runner = RUNNERS.find((one) => one.names.includes(known) && (one.hasAny || one.runs.test(`${args} `)));
  const calls = named.map((one) => commandOf(one.replace(/\s+/g, " ")).call);
  const isNamed = calls.some((one) => one !== "" && `${call} `.startsWith(`${one} `));
  if (runner === undefined && !isNamed && !IS_FILE.test(call)) return undefined;
  const isOther = (runner?.hasAny === true && OTHER.test(args)) || / -\w*[hvV]/.test(` ${prefix}`);
  const isShown = args.split(" ").some((word) => runner?.shows.some((one) => one.test(word)));
  // `--listTests` becomes `--list-tests`.
  const dashed = `${prefix}${args}`.replaceAll(/(?<= --[^ =]*)[A-Z]/g, "-$&").toLowerCase();
  const isShowing = dashed.split(" ").some((word) => SHOWS.test(word));
  return { runs: !isOther && !isShown && !isShowing, codes: runner?.codes ?? [] };
}
