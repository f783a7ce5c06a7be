/** Finds the tests that reach a line of `src`: unit tests by their imports, process tests by the lines that their processes run. */
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { execa } from "execa";

/** A process test. `ms`: its duration. `lines`: lines that its processes ran, by file of `src`. */
export type Ran = { test: string; ms: number; lines: Record<string, number[]> };
type Range = { startOffset: number; endOffset: number; count: number };
type Script = { url: string; functions: { ranges: Range[] }[] };

const SOURCES = `${pathToFileURL("src").href}/`;

/** Returns the files that a file imports, except type-only imports. */
export function importsOf(file: string): string[] {
  const found = readFileSync(file, "utf8").matchAll(
    /^(?:import(?! type)|export(?! type)|\} from)?[^\n]*?(?:from |import\()"(\.[^"]+\.ts)"/gmu,
  );
  return [...found]
    .filter(([line]) => !/^(import|export) type/u.test(line))
    .map((match) => normalize(join(dirname(file), match[1]!)));
}

export function reachedFrom(tests: readonly string[]): Map<string, string[]> {
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

/** Returns the lines that each test's processes ran. Results are added to `file`, and a test in that file does not run again. */
export async function coverage(tests: readonly string[], file: string): Promise<Ran[]> {
  const kept = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const known = new Map(kept.filter(Boolean).map((line) => [(JSON.parse(line) as Ran).test, JSON.parse(line) as Ran]));
  for (const test of tests.filter((one) => !known.has(one))) {
    const folder = mkdtempSync(join(tmpdir(), "ran-"));
    const startedAt = performance.now();
    const args = ["run", "--project", "process", "--reporter", "dot", test];
    const { exitCode } = await execa("node_modules/.bin/vitest", args, {
      env: { PALACE_TEST_COVERAGE: folder, NO_COLOR: "1" },
      reject: false,
    });
    const ran = { test, ms: Math.round(performance.now() - startedAt), lines: linesIn(folder) };
    rmSync(folder, { recursive: true });
    if (exitCode !== 0) {
      console.log(`left out, as it fails without a mutant: ${test}`);
      continue;
    }
    known.set(test, ran);
    appendFileSync(file, `${JSON.stringify(ran)}\n`);
    console.log(`${test}: ${Object.keys(ran.lines).length} files in ${ran.ms} ms`);
  }
  return tests.flatMap((test) => known.get(test) ?? []);
}

function linesIn(folder: string): Record<string, number[]> {
  const lines: Record<string, Set<number>> = {};
  for (const name of globSync(`${folder}/*.json`)) {
    const { result } = JSON.parse(readFileSync(name, "utf8")) as { result: Script[] };
    for (const { url, functions } of result.filter((script) => script.url.startsWith(SOURCES))) {
      const path = relative(process.cwd(), fileURLToPath(url));
      const found = (lines[path] ??= new Set());
      for (const line of linesRun(readFileSync(path, "utf8"), functions)) found.add(line);
    }
  }
  return Object.fromEntries(Object.entries(lines).map(([path, found]) => [path, [...found].toSorted((a, b) => a - b)]));
}

/** Returns the lines whose first character after blanks ran. Node replaces types by blanks, so all positions stay the same. */
function linesRun(source: string, functions: Script["functions"]): number[] {
  const ranges = functions.flatMap((one) => one.ranges);
  const hasRun = new Uint8Array(source.length);
  // An inner range overrides the range around it, so longer ranges come first.
  const length = (range: Range): number => range.endOffset - range.startOffset;
  for (const range of ranges.toSorted((a, b) => length(b) - length(a)))
    hasRun.fill(range.count > 0 ? 1 : 0, range.startOffset, range.endOffset);
  let at = 0;
  return source.split("\n").flatMap((text, index) => {
    const first = at + text.search(/\S|$/u);
    at += text.length + 1;
    return hasRun[first] === 1 ? [index + 1] : [];
  });
}
