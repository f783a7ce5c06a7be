/** Checks that the package has every file that its commands and exports need, and no other code. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { reachedFrom, ROOT, sourceFiles } from "./source-files.ts";

const missing = existsSync(join(ROOT, "dist/bin/palace.js")) ? undefined : "dist is missing: npm run build";
if (missing !== undefined) console.log(`left out: the files of the package (${missing})`);

/** Files that agents load from a copy in their own folder (src/agents/install/agent-files.ts). */
const COPIED = ["dist/agents/pi/palace.js", "dist/agents/opencode/palace.js"];

type Packed = { size: number; files: { path: string }[] };
type Manifest = { bin: Record<string, string>; exports: Record<string, string> };
const { bin, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
const entries = [...Object.values(bin), ...Object.values(exports)].map((file) => posix.normalize(file));

/** Maximum size of the tarball, bytes. Every install downloads it. */
const SIZE_MAX = 8_000_000;

/** Size and files of the tarball that `npm pack` would make from the last build. */
const { size, files } = missing === undefined ? packed() : { size: 0, files: [] };
const shipped = new Set(files.map(({ path }) => path));

function packed(): Packed {
  const said = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT, stdio: "pipe" });
  const [tarball] = Object.values(JSON.parse(said.toString()) as Record<string, Packed>);
  if (tarball === undefined) throw new Error("npm pack names no tarball");
  return tarball;
}

/** Returns the relative imports of a built file or declaration file, static or on demand. */
function importsOf(path: string): string[] {
  const imported = /(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["'`](\.[\w./-]+)["'`]/g;
  return [...readFileSync(join(ROOT, path), "utf8").matchAll(imported)].map(([, name = ""]) =>
    posix.join(posix.dirname(path), name),
  );
}

/**
 * Returns the files of the threads and processes that a built file starts. The code has a file's path without extension, relative to the
 * built file's folder or to a folder that the build wrote as `new URL("…", import.meta.url).href`.
 */
function startedBy(path: string): string[] {
  const code = readFileSync(join(ROOT, path), "utf8");
  const places = [...code.matchAll(/new URL\(\s*["'`]([^"'`]+)["'`],\s*[\w.$]+\)\.href/g)].map(([, place = ""]) =>
    posix.join(posix.dirname(path), posix.dirname(place)),
  );
  const names = [...code.matchAll(/["'`](?:\.\/)?([\w./-]*(?:thread|process|guard|worker))["'`$]/g)];
  return [posix.dirname(path), ...places]
    .flatMap((folder) => names.map(([, name = ""]) => `${posix.join(folder, name)}.js`))
    .filter((file) => shipped.has(file));
}

test.skipIf(missing)("every built file in the package is needed by a command, an export or an agent's copy", () => {
  // The web page does not count: its index.html names its files.
  const code = [...shipped].filter((path) => /^dist\/(?!ui\/).*\.c?js$/.test(path));
  const edges = new Map(code.map((path) => [path, [...importsOf(path), ...startedBy(path)]]));
  const reached = reachedFrom([...entries, ...COPIED], edges);
  expect(code.length).toBeGreaterThan(20);
  expect(code.filter((path) => !reached.has(path))).toEqual([]);
  expect([...reached].filter((path) => !shipped.has(path))).toEqual([]);
});

test.skipIf(missing)("the package has the file of every thread and process that the source starts", () => {
  const started = sourceFiles("src").flatMap(({ path, text }) =>
    [...text.matchAll(/threadFile\(import\.meta\.url, "([^"]+)"|new URL\(`\.\/([\w./-]+)\$\{extname/g)].map(
      ([, thread, worker]) => posix.join(posix.dirname(path), `${thread ?? worker}.js`).replace(/^src/, "dist"),
    ),
  );
  expect(started.length).toBeGreaterThan(10);
  expect(started.filter((path) => !shipped.has(path))).toEqual([]);
});

test.skipIf(missing)("every declaration file in the package is needed by an export, and none is missing", () => {
  const declared = [...shipped].filter((path) => path.endsWith(".d.ts"));
  const declarationOf = (path: string): string => path.replace(/\.[jt]s$/, ".d.ts");
  const edges = new Map(declared.map((path) => [path, importsOf(path).map(declarationOf)]));
  const exported = Object.values(exports).filter((file) => file.endsWith(".js"));
  const reached = reachedFrom(
    exported.map((file) => declarationOf(posix.normalize(file))),
    edges,
  );
  expect(declared.length).toBeGreaterThanOrEqual(exported.length);
  expect(declared.filter((path) => !reached.has(path))).toEqual([]);
  expect([...reached].filter((path) => !shipped.has(path))).toEqual([]);
});

test.skipIf(missing)(`the package has less than ${SIZE_MAX / 1e6} MB`, () => {
  expect(size).toBeGreaterThan(1_000_000);
  expect(size).toBeLessThan(SIZE_MAX);
});

test.skipIf(missing)("the package has no source map", () => {
  expect([...shipped].filter((path) => path.endsWith(".map"))).toEqual([]);
});
