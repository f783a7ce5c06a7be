/**
 * Counts how many small faults in `src` the quick tests notice.
 *
 * Usage: node scripts/mutate.ts SEED COUNT [--resume FILE] [--process] [--again]
 *
 * Each mutant is written into a copy of the tree, never into the tree itself. Only test files that import the mutated file run,
 * nearest first; with `--process` quick process tests follow.
 * `--resume` writes each result as one line of JSON into FILE, and a later run continues after it.
 * `--again` runs the survivors with more tests: four times the time, and every test file that imports the mutated file itself.
 * `typescript` 7 has no stable parser for programs, so the syntax tree is rolldown's.
 */
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { parseSync } from "rolldown/utils";

type Room = { files: string[]; process: string };
type Mutant = { room: string; file: string; line: number; was: string; now: string; text: string };
type Outcome = "killed" | "survived" | "timed out";
type Node = { type: string; start: number; end: number; [key: string]: unknown };

const PERMISSIONS = [
  "dispatch/permissions",
  "dispatch/methods",
  "dispatch/tool-call",
  "door/tokens",
  "door/guard",
  "door/exposure",
  "peer",
];
const guards = PERMISSIONS.map((name) => `src/broker/${name}.ts`);
const filesIn = (folder: string): string[] => globSync(`${folder}/**/*.ts`).toSorted();
const ROOMS: Readonly<Record<string, Room>> = {
  broker: { files: filesIn("src/broker").filter((file) => !guards.includes(file)), process: "{write,doors}" },
  ledger: { files: filesIn("src/ledger"), process: "write" },
  client: { files: filesIn("src/client"), process: "{write,cli}" },
  transport: { files: filesIn("src/transport"), process: "doors" },
  backup: { files: filesIn("src/backup"), process: "backup" },
  permissions: { files: [...guards, "src/protocol/tools/profile.ts"], process: "doors" },
};
/** Lines whose change no test needs to notice, with the reason. */
const EQUIVALENT: readonly (readonly [RegExp, string])[] = [
  [/\blog\.\w+\(|\blog\(|\.write\(`/u, "text of a log"],
  [
    /_(MS|BYTES|MAX|SIZE|DAYS|LINES|TTL)\b.* = |[tT]imeout|\bdelay\(|setTimeout|setInterval|\.unref\(/u,
    "a limit's or a time's exact value",
  ],
  [/PalaceError\(|^\s*[`"].*[`"],?$/u, "words of an error or a hint"],
];
const TIMEOUT_MS = 60_000;
const UNIT_BUDGET_MS = 10_000;
const PROCESS_BUDGET_MS = 8_000;
/** Taken for a file without a measured time. The process tests need measured times: most of them last longer than this. */
const UNKNOWN_TIME_MS = 4_000;
const SWAPS: Readonly<Record<string, string>> = {
  ...{ "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===", "&&": "||", "||": "&&" },
  ...{
    true: "false",
    false: "true",
    null: "undefined",
    '"admin"': '"agent"',
    '"agent"': '"reader"',
    '"reader"': '"agent"',
  },
};

/** Returns numbers from 0 to 1 that depend on `seed` alone (mulberry32). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function changed(literal: Node, text: string): string {
  if (typeof literal["value"] === "number") return String(literal["value"] + 1);
  return SWAPS[text] ?? (typeof literal["value"] === "string" ? '"mutant"' : text);
}

/** Yields [start, end, replacement] of each change at this node. */
function* changesAt(node: Node, parent: Node, source: string): Generator<[number, number, string]> {
  const child = (key: string): Node => node[key] as Node;
  const textOf = ({ start, end }: Node): string => source.slice(start, end);
  if (node["test"] && node.type !== "SwitchCase") {
    yield [child("test").start, child("test").end, `!(${textOf(child("test"))})`];
  } else if (node.type === "BinaryExpression" || node.type === "LogicalExpression") {
    const swapped = SWAPS[String(node["operator"])];
    if (swapped)
      yield [
        child("left").end,
        child("right").start,
        source.slice(child("left").end, child("right").start).replace(String(node["operator"]), swapped),
      ];
  } else if (node.type === "ExpressionStatement" && /^(await |void )?[\w.#?![\]]+\(/u.test(textOf(node))) {
    if (!textOf(node).startsWith("super")) yield [node.start, node.end, ";"];
  } else if (node.type === "Literal" && !/Import|Export|TS|ExpressionStatement/u.test(parent.type)) {
    const isReturned = parent.type === "ReturnStatement" || parent.type === "ArrowFunctionExpression";
    const isRole =
      parent.type === "Property" && parent["value"] === node && textOf(node) in SWAPS && textOf(node).startsWith('"');
    const isNumber = typeof node["value"] === "number" && parent["key"] !== node;
    if (isReturned || isRole || isNumber) yield [node.start, node.end, changed(node, textOf(node))];
  }
}

function* walk(node: Node, parent: Node): Generator<[Node, Node]> {
  yield [node, parent];
  for (const [key, value] of Object.entries(node))
    if (!/^(typeAnnotation|typeArguments|typeParameters|returnType)$/u.test(key))
      for (const child of Array.isArray(value) ? value : [value])
        if (typeof (child as Node | undefined)?.type === "string") yield* walk(child as Node, node);
}

function mutantsOf(room: string, file: string): Mutant[] {
  const source = readFileSync(file, "utf8");
  const program = parseSync(file, source).program as unknown as Node;
  const all = [...walk(program, program)].flatMap(([node, parent]) =>
    [...changesAt(node, parent, source)].map(([start, end, replacement]): Mutant => {
      const text = source.slice(0, start) + replacement + source.slice(end);
      const line = source.slice(0, start).split("\n").length;
      return {
        room,
        file,
        line,
        was: source.split("\n")[line - 1]!.trim(),
        now: text.split("\n")[line - 1]!.trim(),
        text,
      };
    }),
  );
  return all.filter(({ was, text }) => text !== source && !EQUIVALENT.some(([pattern]) => pattern.test(was)));
}

/** Returns the files that a file imports, without those that it imports for their types only. */
function importsOf(file: string): string[] {
  const found = readFileSync(file, "utf8").matchAll(
    /^(?:import(?! type)|export(?! type)|\} from)?[^\n]*?(?:from |import\()"(\.[^"]+\.ts)"/gmu,
  );
  return [...found]
    .filter(([line]) => !/^(import|export) type/u.test(line))
    .map((match) => normalize(join(dirname(file), match[1]!)));
}

/** Returns the test files that reach each file, nearest first. */
function reachedFrom(tests: readonly string[]): Map<string, string[]> {
  const imports = new Map<string, string[]>();
  const reached = new Map<string, [test: string, depth: number][]>();
  for (const test of tests) {
    const seen = new Map([[test, 0]]);
    for (const [file, depth] of seen) {
      if (!imports.has(file)) imports.set(file, existsSync(file) ? importsOf(file) : []);
      for (const next of imports.get(file)!) if (!seen.has(next)) seen.set(next, depth + 1);
      reached.set(file, [...(reached.get(file) ?? []), [test, depth]]);
    }
  }
  return new Map(
    [...reached].map(([file, found]) => [file, found.toSorted((a, b) => a[1] - b[1]).map(([test]) => test)]),
  );
}

/** Returns how long each test file took in vitest's last runs here, ms. */
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

/** Returns the first tests that fit into the budget by their measured times, and in `--again` all that import `file` itself. */
function within(budgetMs: number, tests: readonly string[], times: ReadonlyMap<string, number>, file = ""): string[] {
  let left = budgetMs;
  return tests.filter((test) => {
    if (file !== "" && importsOf(test).includes(file)) return true;
    const needed = times.get(test) ?? UNKNOWN_TIME_MS;
    if (needed > left) return false;
    left -= needed;
    return true;
  });
}

/** Copies the tree; the copy has a folder of its own for what vitest remembers. */
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

/** Ends the brokers that a cut test left: processes that name the copy in their command or environment. */
function endLeftovers(folder: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid))
    try {
      if (["cmdline", "environ"].some((name) => readFileSync(`/proc/${pid}/${name}`, "utf8").includes(folder)))
        process.kill(Number(pid), "SIGKILL");
    } catch {
      // The process has ended, or belongs to another user.
    }
}

async function run(
  folder: string,
  mutant: Mutant,
  tests: readonly string[],
): Promise<{ outcome: Outcome; by: string }> {
  if (tests.length === 0) return { outcome: "survived", by: "no test imports it" };
  writeFileSync(join(folder, mutant.file), mutant.text);
  const args = "run --bail 1 --maxWorkers 1 --reporter dot --project unit --project contract --project process".split(
    " ",
  );
  const env = { TMPDIR: join(folder, "t"), NO_COLOR: "1" };
  const ended = await execa("node_modules/.bin/vitest", [...args, ...tests], {
    cwd: folder,
    env,
    all: true,
    reject: false,
    timeout: TIMEOUT_MS,
    forceKillAfterDelay: 2_000,
  });
  endLeftovers(folder);
  cpSync(mutant.file, join(folder, mutant.file));
  rmSync(join(folder, "t"), { recursive: true, force: true });
  mkdirSync(join(folder, "t"));
  if (ended.timedOut) return { outcome: "timed out", by: "" };
  return ended.exitCode === 0
    ? { outcome: "survived", by: `${tests.length} files` }
    : { outcome: "killed", by: /(?:FAIL|Error:).*/u.exec(ended.all)?.[0] ?? "" };
}

function table(results: readonly { room: string; outcome: Outcome }[]): string {
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
  options: { resume: { type: "string" }, process: { type: "boolean" }, again: { type: "boolean" } },
  allowPositionals: true,
});
const [seed, count] = positionals.map(Number);
if (!count) throw new Error("usage: node scripts/mutate.ts SEED COUNT [--resume FILE] [--process] [--again]");
const random = chance(seed!);
const pools = Object.entries(ROOMS).map(([room, { files }]) => files.flatMap((file) => mutantsOf(room, file)));
const take = (pool: Mutant[]): Mutant => pool.splice(Math.floor(random() * pool.length), 1)[0]!;
const chosen = Array.from({ length: count }, (_, at) => take(pools[at % pools.length]!));
const kept = values.resume && existsSync(values.resume) ? readFileSync(values.resume, "utf8") : "";
const results = kept.split("\n").flatMap((line) => (line ? [JSON.parse(line)] : []));
const times = measured();
const quick = globSync("test/{unit,pins,house,contract,regressions}/**/*.test.ts");
const reached = reachedFrom(quick.filter((file) => !file.includes("/process/")));
const copy = copyTree();
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
for (const [at, mutant] of chosen.entries()) {
  const before = results[at];
  if (before !== undefined && !(values.again && before.outcome === "survived")) continue;
  const near = reached.get(mutant.file) ?? [];
  const ofProcess = values.process ? globSync(`test/process/${ROOMS[mutant.room]!.process}/*.test.ts`) : [];
  const tests = [
    ...(values.again ? within(4 * UNIT_BUDGET_MS, near, times, mutant.file) : within(UNIT_BUDGET_MS, near, times)),
    ...within(PROCESS_BUDGET_MS, ofProcess, times),
  ];
  if (before?.by === `${tests.length} files`) continue;
  const { text: _, ...shown } = mutant;
  const result = { ...shown, ...(await run(copy, mutant, tests)) };
  results[at] = result;
  if (values.resume) writeFileSync(values.resume, results.map((one) => `${JSON.stringify(one)}\n`).join(""));
  console.log(`${result.outcome}  ${result.file}:${result.line}  ${result.by}\n  - ${result.was}\n  + ${result.now}`);
}
console.log(table(results));
