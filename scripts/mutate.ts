/**
 * Counts how many small faults in `src` the quick tests notice (docs/lab/mutants.md).
 *
 * Usage: node scripts/mutate.ts SEED COUNT [--resume FILE] [--lines FILE] [--again]
 *   --resume FILE  adds each result to FILE; a later run continues after the last one if `src` is the same
 *   --lines FILE   keeps in FILE which lines the process tests run; measuring this takes some minutes
 *   --again        runs only the mutants that survived
 *
 * Each mutant is written into a copy of the tree. The unit tests that import its file run first, nearest first. If the mutant survives, the
 * quick process tests that run its line follow.
 */
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { QUICK_PROCESS } from "../test/quick.ts";
import { chance, type Mutant, mutantsOf, ROOMS } from "./mutate/mutants.ts";
import { coverage, importsOf, type Ran, reachedFrom } from "./mutate/reach.ts";

type Outcome = "killed" | "survived" | "timed out";
type Result = Omit<Mutant, "text"> & { outcome: Outcome; by: string };

const TIMEOUT_MS = 120_000;
const UNIT_BUDGET_MS = 30_000;
const PROCESS_BUDGET_MS = 40_000;
/** Time assumed for a unit test file that was never measured. */
const UNKNOWN_TIME_MS = 1_000;

/** Returns the duration of each test file in vitest's last runs here, ms. */
function measured(): Map<string, number> {
  const reports = globSync("node_modules/.vite/vitest/*/results.json").map((path) =>
    JSON.parse(readFileSync(path, "utf8")),
  );
  const projects = reports.flatMap(
    ({ projects: all }) => Object.values(all) as { files: Record<string, { duration: number }> }[],
  );
  return new Map(
    projects.flatMap(({ files }) => Object.entries(files).map(([file, { duration }]) => [file, duration] as const)),
  );
}

/** Returns all tests that import `file` directly, and the nearest of the other tests, as many as fit into the time budget. */
function unitTests(near: readonly string[], times: ReadonlyMap<string, number>, file: string): string[] {
  let left = UNIT_BUDGET_MS;
  return near.filter((test) => {
    if (importsOf(test).includes(file)) return true;
    const needed = times.get(test) ?? UNKNOWN_TIME_MS;
    if (needed > left) return false;
    left -= needed;
    return true;
  });
}

/** Returns the quickest process tests that run the line, as many as fit into the budget. */
function processTests(ran: readonly Ran[], { file, line }: Mutant): string[] {
  let left = PROCESS_BUDGET_MS;
  const reaching = ran.filter(({ test, lines }) => lines[file]?.includes(line) || importsOf(test).includes(file));
  return reaching
    .toSorted((a, b) => a.ms - b.ms)
    .filter(({ ms }) => (left -= ms) >= 0)
    .map(({ test }) => test);
}

function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), "mut-"));
  for (const name of readdirSync("."))
    if (name !== "node_modules" && name !== ".git")
      cpSync(name, join(folder, name), { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(folder, "node_modules"));
  mkdirSync(join(folder, "t"));
  for (const name of readdirSync("node_modules"))
    if (!name.startsWith(".vi"))
      symlinkSync(join(process.cwd(), "node_modules", name), join(folder, "node_modules", name));
  return folder;
}

/** Kills the brokers of an interrupted test: processes with the copy's path in their command or environment. */
function endLeftovers(folder: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid))
    try {
      if (["cmdline", "environ"].some((name) => readFileSync(`/proc/${pid}/${name}`, "utf8").includes(folder)))
        process.kill(Number(pid), "SIGKILL");
    } catch {
      // The process has ended, or belongs to another user.
    }
}

async function run(folder: string, tests: readonly string[]): Promise<{ outcome: Outcome; by: string }> {
  if (tests.length === 0) return { outcome: "survived", by: "no test reaches it" };
  const projects = ["unit", "process"].flatMap((name) => ["--project", name]);
  const args = ["run", "--bail", "1", "--reporter", "dot", ...projects, ...tests];
  const env = { TMPDIR: join(folder, "t"), NO_COLOR: "1", NODE_COMPILE_CACHE: join(folder, "compiled") };
  const ended = await execa("node_modules/.bin/vitest", args, {
    cwd: folder,
    env,
    all: true,
    reject: false,
    timeout: TIMEOUT_MS,
    forceKillAfterDelay: 2_000,
  });
  endLeftovers(folder);
  rmSync(join(folder, "t"), { recursive: true, force: true });
  mkdirSync(join(folder, "t"));
  if (ended.timedOut) return { outcome: "timed out", by: "" };
  return ended.exitCode === 0
    ? { outcome: "survived", by: `${tests.length} files` }
    : { outcome: "killed", by: /(?:FAIL|Error:).*/u.exec(ended.all)?.[0] ?? "" };
}

function table(results: readonly Result[]): string {
  const count = (room: string, outcome?: Outcome): number =>
    results.filter((one) => (room === "all" || one.room === room) && (!outcome || one.outcome === outcome)).length;
  const rows = [...Object.keys(ROOMS), "all"].map((room) => {
    const [killed, survived] = [count(room, "killed"), count(room, "survived")];
    const share = Math.round((100 * killed) / Math.max(killed + survived, 1));
    return `| ${room} | ${count(room)} | ${killed} | ${survived} | ${count(room, "timed out")} | ${share} % |`;
  });
  return [
    "| Room | Mutants | Killed | Survived | Timed out | Killed of the decided |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

const { values, positionals } = parseArgs({
  options: { resume: { type: "string" }, lines: { type: "string" }, again: { type: "boolean" } },
  allowPositionals: true,
});
const [seed, count] = positionals.map(Number);
if (!count) throw new Error("usage: node scripts/mutate.ts SEED COUNT [--resume FILE] [--lines FILE] [--again]");
const random = chance(seed!);
const pools = Object.entries(ROOMS).map(([room, files]) => files.flatMap((file) => mutantsOf(room, file)));
const take = (pool: Mutant[]): Mutant => pool.splice(Math.floor(random() * pool.length), 1)[0]!;
const chosen = Array.from({ length: count }, (_, at) => take(pools[at % pools.length]!));
const kept = values.resume && existsSync(values.resume) ? readFileSync(values.resume, "utf8") : "";
const results: Result[] = kept.split("\n").flatMap((line) => (line ? [JSON.parse(line) as Result] : []));
const times = measured();
const reached = reachedFrom(
  globSync("test/{unit,pins,house,contract,regressions}/**/*.test.ts", { exclude: ["**/process/**"] }),
);
const copy = copyTree();
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
const ran = await coverage(
  QUICK_PROCESS.map((name) => `test/${name}`),
  values.lines ?? join(copy, "lines.jsonl"),
);
for (const [at, mutant] of chosen.entries()) {
  const before = results[at];
  if (before !== undefined && (before.file !== mutant.file || before.now !== mutant.now))
    throw new Error(`src has changed since ${values.resume} was begun: name another file`);
  if (before !== undefined && !(values.again && before.outcome === "survived")) continue;
  const { text, ...shown } = mutant;
  writeFileSync(join(copy, mutant.file), text);
  let result = await run(copy, unitTests(reached.get(mutant.file) ?? [], times, mutant.file));
  const further = processTests(ran, mutant);
  if (result.outcome === "survived" && further.length > 0) result = await run(copy, further);
  cpSync(mutant.file, join(copy, mutant.file));
  results[at] = { ...shown, ...result };
  if (values.resume) writeFileSync(values.resume, results.map((one) => `${JSON.stringify(one)}\n`).join(""));
  console.log(`${result.outcome}  ${shown.file}:${shown.line}  ${result.by}\n  - ${shown.was}\n  + ${shown.now}`);
}
console.log(table(results));
