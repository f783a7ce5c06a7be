/** Runs every test that this machine can run, and prints what it left out. With --all or CI=true a skipped test is a failure. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "zx";
import { QUICK_PROCESS } from "../test/quick.ts";
import { engineMissing } from "./engine.ts";
import { ROOT, type RunOptions, runAsMain } from "./main.ts";
import {
  FAILURES_SHOWN_MAX,
  LEFT_OUT_LINES_MAX,
  NOTHING,
  readReport,
  type Tally,
  total,
  withoutSkips,
} from "./test-report.ts";

type Suite = Readonly<{
  name: string;
  /** Commands to run, by name. A suite has either commands or arguments for vitest. */
  commands?: Readonly<Record<string, string>>;
  vitest?: readonly string[];
  /** True if the suite may keep its palaces in memory, because its tests never cut the machine's power. */
  inMemory?: boolean;
  /** Returns the reason why the suite cannot run here. */
  missing?: (options: RunOptions) => string | undefined;
}>;

/** Suites that run two at a time, in this order. None of their tests may measure time. */
type Stage = readonly Suite[];
const AT_ONCE = 2;

/** Folder of a file system in memory. Every Linux has it; in a container it is small. */
const MEMORY = "/dev/shm";
const MEMORY_MIN_BYTES = 6 * 1024 ** 3;

const build: Suite = { name: "build", commands: { build: "node scripts/build.ts" } };
const unit: Suite = { name: "unit", vitest: ["--project", "unit"], inMemory: true };
/** Suites to run while working: no build, no containers, and only the process tests that find many faults in little time. */
const QUICK: Stage = [
  { name: "process", vitest: ["--project", "process", ...QUICK_PROCESS.map((name) => `test/${name}`)], inMemory: true },
  unit,
];

/**
 * All suites, the longest first, so that no core is idle at the end. Containers mostly wait, so they get one worker more than there are
 * cores.
 */
const STAGES: readonly Stage[] = [
  [build],
  [
    // The processes of these tests mostly wait for each other, so they get more workers.
    { name: "process", vitest: ["--project", "process", "--maxWorkers=3"], inMemory: true },
    {
      name: "check",
      commands: {
        types: "npm run --silent check:types",
        lint: "oxlint src test scripts",
        format: "oxfmt --check src test scripts",
      },
    },
    unit,
    { name: "seeded", vitest: ["--project", "seeded"], inMemory: true },
    { name: "containers", vitest: ["--project", "containers", "--maxWorkers=3"], missing: stackMissing },
    // These suites always run. Their tests that need Docker, an agent or a network skip themselves and report why.
    { name: "agents", vitest: ["--project", "agents", "--maxWorkers=3"] },
    { name: "install", vitest: ["--project", "install"] },
    { name: "soak", vitest: ["--project", "soak"] },
  ],
];
const SUITES = STAGES.flat();
/** Suites whose tests start the built files, as users do. */
const NEED_BUILD = ["process", "containers", "agents", "install"];

function stackMissing({ env }: RunOptions): string | undefined {
  const engine = engineMissing(env);
  if (engine !== undefined) return engine;
  const tool = ["/usr/sbin/sshd", "/usr/bin/bindfs"].find((path) => !existsSync(path));
  return tool === undefined ? undefined : `there is no ${tool} (apt-get install openssh-server bindfs)`;
}

const USAGE = `usage: ./scripts/test [--all] [quick | SUITE ...] [FILE ...] [vitest options]
  quick   while you work: unit and the quickest process tests, in a few minutes
  SUITE   ${SUITES.map(({ name }) => name).join(", ")}; none: all of them
  FILE    a test file, or a part of its path: runs only what matches
  --all   a test that cannot run here is a failure (CI=true does the same)`;

export async function run(options: RunOptions): Promise<number> {
  const { argv, env, print, signal } = options;
  if (argv.includes("--help")) {
    print(USAGE);
    return 0;
  }
  // With a name filter a skipped test is not a failure, because vitest skips all other tests.
  const filters = argv.some((argument) => /^(-t|--testNamePattern)(=|$)/.test(argument));
  const strict = (argv.includes("--all") || env["CI"] === "true") && !filters;
  const results: Tally[] = [];
  let isBuilt = false;
  for (const stage of chosen(argv.filter((argument) => argument !== "--all"))) {
    // The tests start the files that this run has built, as users do. Without a build they run the sources.
    const env = { ...options.env, ...(isBuilt && { PALACE_TEST_BUILT: "1" }) };
    const left = [...stage];
    const lane = async (): Promise<void> => {
      for (let suite = left.shift(); suite !== undefined; suite = left.shift()) {
        signal.throwIfAborted();
        results.push(await runWhole(suite, { ...options, env }, strict));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    isBuilt ||= stage.includes(build);
  }
  const { passed, failed, leftOut, failures } = total(results);
  if (leftOut.length > 0) print(`left out:`);
  for (const line of leftOut.slice(0, LEFT_OUT_LINES_MAX)) print(`  ${line}`);
  if (leftOut.length > LEFT_OUT_LINES_MAX) print(`  and ${leftOut.length - LEFT_OUT_LINES_MAX} more`);
  // Repeats the failures at the end, for readers who see only the last lines of a long run.
  if (failures.length > 0) print(`failed:`);
  for (const failure of failures.slice(0, FAILURES_SHOWN_MAX)) print(`  ${failure.replaceAll("\n", "\n  ")}`);
  print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Selects suites by name, or makes one vitest run for files and options. */
function chosen(argv: readonly string[]): readonly Stage[] {
  if (argv.length === 0) return STAGES;
  const names = ["quick", ...SUITES.map(({ name }) => name)];
  const rest = argv.filter((argument) => !names.includes(argument));
  if (rest.length === argv.length) return [[{ name: "chosen", vitest: rest }]];
  const withRest = (suite: Suite): Suite =>
    suite.vitest === undefined ? suite : { ...suite, vitest: [...suite.vitest, ...rest] };
  if (argv.includes("quick")) return [QUICK.map(withRest)];
  const wanted = NEED_BUILD.some((name) => argv.includes(name)) ? ["build", ...argv] : argv;
  return STAGES.map((stage) => stage.filter(({ name }) => wanted.includes(name)).map(withRest));
}

async function runWhole(suite: Suite, options: RunOptions, strict: boolean): Promise<Tally> {
  const startedAt = performance.now();
  const why = suite.missing?.(options);
  const ran = why === undefined ? await runSuite(suite, options) : { ...NOTHING, leftOut: [why] };
  const empty = ran.passed + ran.failed === 0;
  const named = { ...ran, leftOut: ran.leftOut.map((line) => `${suite.name}: ${line}`) };
  const result = strict ? withoutSkips(named) : named;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  options.log(
    `== ${suite.name}: ${result.passed} passed, ${result.failed} failed${empty ? ", left out" : ""} (${seconds} s)`,
  );
  return result;
}

async function runSuite({ name, commands = {}, vitest, inMemory }: Suite, options: RunOptions): Promise<Tally> {
  options.log(`== ${name}`);
  if (vitest !== undefined) return inMemory === true ? runInMemory(vitest, options) : runVitest(vitest, options);
  const results: Tally[] = [];
  for (const [title, command] of Object.entries(commands)) {
    const code = await execute(command.split(" "), options);
    const failures = code === 0 ? [] : [`${title}: ${command}`];
    results.push({ ...NOTHING, passed: code === 0 ? 1 : 0, failed: failures.length, failures });
  }
  return total(results);
}

async function runInMemory(args: readonly string[], options: RunOptions): Promise<Tally> {
  if (options.env["TMPDIR"] !== undefined || freeBytes(MEMORY) < MEMORY_MIN_BYTES) return runVitest(args, options);
  const folder = mkdtempSync(join(MEMORY, "palace-test-"));
  // Gives the folder the mode of /tmp, because tests have processes of other users.
  chmodSync(folder, 0o1777);
  try {
    return await runVitest(args, { ...options, env: { ...options.env, TMPDIR: folder } });
  } finally {
    // A process that outlives the tests may still write to the folder, so the removal is retried.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

async function runVitest(args: readonly string[], options: RunOptions): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "palace-test-"));
  const file = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    // Without Node's compile cache, thousands of short processes would each compile the same files.
    const env = { NODE_COMPILE_CACHE: join(folder, "compiled"), ...options.env };
    const code = await execute(["vitest", "run", "--passWithNoTests", ...reporters, ...args], { ...options, env });
    return readReport(readFileSync(file, "utf8"), code);
  } catch (error) {
    options.signal.throwIfAborted();
    options.log(`vitest left no report: ${(error as Error).message}`);
    return { ...NOTHING, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Runs one of the locked tools. Its output goes to stderr, because stdout is only for the result. */
async function execute(command: readonly string[], { env, signal }: RunOptions): Promise<number> {
  const path = `${join(ROOT, "node_modules", ".bin")}:${env["PATH"] ?? ""}`;
  const done = await $({
    cwd: ROOT,
    env: { ...env, PATH: path },
    signal,
    nothrow: true,
    stdio: ["ignore", 2, "inherit"],
  })`${command}`;
  signal.throwIfAborted();
  return done.exitCode ?? 1;
}

if (import.meta.main) await runAsMain(run);
