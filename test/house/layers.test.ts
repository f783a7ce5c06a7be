/** Compares the imports of all files with the table in layers.ts, and looks for circular imports. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  COMPOSITION_ROOTS,
  COMPOSITION_ROOTS_MAY_IMPORT,
  MEMORY_ROOMS,
  roomOf,
  ROOMS,
  TYPES_FOR_ALL,
} from "./layers.ts";
import {
  circlesOf,
  type Import,
  importsOf,
  resolveImport,
  ROOT,
  type SourceFile,
  sourceFiles,
} from "./source-files.ts";

const files = sourceFiles("src");
const WINGS = [...new Set(Object.keys(ROOMS).map((room) => room.split("/")[0] ?? ""))];

/** Returns what is wrong with an import, or undefined if it is allowed. */
function objection(file: SourceFile, { specifier, typesOnly }: Import): string | undefined {
  const path = file.path.slice("src/".length);
  const from = roomOf(path) ?? "";
  const room = ROOMS[from];
  if (room === undefined) return `${file.path} is not in the table`;
  const target = resolveImport(file.path, specifier)?.slice("src/".length);
  if (target === undefined) return room.closedNode.includes(specifier) ? "this room may not touch it" : undefined;
  const to = roomOf(target) ?? "";
  if (to === from || room.mayImport.includes(to) || room.mayImportFiles.includes(target)) return undefined;
  if (to === TYPES_FOR_ALL && typesOnly) return undefined;
  return COMPOSITION_ROOTS.includes(path) && COMPOSITION_ROOTS_MAY_IMPORT.includes(to)
    ? undefined
    : `${from} may not import ${to}`;
}

test("every folder of src is in the table of imports, and the table names no other folder", () => {
  const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual(WINGS.toSorted());
  expect(Object.keys(ROOMS).filter((room) => !existsSync(join(ROOT, "src", room)))).toEqual([]);
  expect(COMPOSITION_ROOTS.filter((file) => !existsSync(join(ROOT, "src", file)))).toEqual([]);
});

test("the picture in src/README.md has each folder once, above everything that it may import", () => {
  const [picture = ""] = readFileSync(join(ROOT, "src/README.md"), "utf8").match(/(?<=^```\n)[^`]*/m) ?? [];
  const drawn = picture.split("\n").flatMap((line) => {
    const [floor = "", names = ""] = line.split(/ {2,}/);
    return names.split(" ").flatMap((name): [string, number][] => (name === "" ? [] : [[name, Number(floor)]]));
  });
  expect(drawn.map(([name]) => name).toSorted()).toEqual(WINGS.toSorted());
  const floors = new Map(drawn);
  const floorOf = (room: string): number => floors.get(room.split("/")[0] ?? "") ?? 0;
  const upwards = Object.entries(ROOMS).flatMap(([name, { mayImport, mayImportFiles }]) =>
    [...mayImport, ...mayImportFiles]
      .filter((to) => to.split("/")[0] !== name.split("/")[0] && floorOf(to) >= floorOf(name))
      .map((to) => `${name} → ${to}`),
  );
  expect(upwards).toEqual([]);
});

test("importsOf finds an import in every file of src that has a line beginning with `import`", () => {
  expect(files.length).toBeGreaterThan(60);
  const seen = files.flatMap(importsOf);
  expect(seen.length).toBeGreaterThan(200);
  expect(seen.some(({ dynamic }) => dynamic)).toBe(true);
  const silent = files.filter((file) => /^import\s/m.test(file.text) && importsOf(file).length === 0);
  expect(silent.map(({ path }) => path)).toEqual([]);
  const missing = files.flatMap((file) =>
    importsOf(file)
      .map(({ specifier }) => resolveImport(file.path, specifier))
      .filter((path) => path !== undefined && !existsSync(join(ROOT, path))),
  );
  expect(missing).toEqual([]);
});

test("no file imports what its folder may not import", () => {
  const wrong = files.flatMap((file) =>
    importsOf(file).flatMap((one) => {
      const why = objection(file, one);
      return why === undefined ? [] : [`${file.path}: "${one.specifier}": ${why}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test("the folders of src/memory import only from lower layers, and its README lists the same layers", () => {
  const lineOf = (path: string): number => MEMORY_ROOMS.findIndex((rooms) => rooms.includes(path.split("/")[2] ?? ""));
  const rules = files.filter(({ path }) => roomOf(path.slice("src/".length)) === "memory");
  expect(rules.filter(({ path }) => lineOf(path) < 0)).toEqual([]);
  const upwards = rules.flatMap((file) =>
    importsOf(file).flatMap(({ specifier }) => {
      const target = resolveImport(file.path, specifier) ?? "";
      const isOther = lineOf(target) >= 0 && target.startsWith("src/memory/");
      return isOther && target.split("/")[2] !== file.path.split("/")[2] && lineOf(target) <= lineOf(file.path)
        ? [`${file.path}: "${specifier}"`]
        : [];
    }),
  );
  expect(upwards).toEqual([]);
  const readme = readFileSync(join(ROOT, "src/memory/README.md"), "utf8");
  expect(readme).toContain(MEMORY_ROOMS.map((rooms) => rooms.join(", ")).join(" → "));
});

test("the web page's code imports only types from the rest of src", () => {
  const page = files.filter(({ path }) => path.startsWith("src/ui/"));
  const wrong = page.flatMap((file) =>
    importsOf(file)
      .filter(({ specifier, typesOnly }) => specifier.startsWith("../") && !typesOnly)
      .map(({ specifier }) => `${file.path}: "${specifier}"`),
  );
  expect(page.length).toBeGreaterThan(5);
  expect(wrong).toEqual([]);
});

test("no file imports an entry point", () => {
  const wrong = files
    .filter(({ path }) => !path.startsWith("src/bin/"))
    .filter((file) => importsOf(file).some(({ specifier }) => /(^|\/)bin\//.test(specifier)));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test("the shim starts without any package, because every agent waits for its start", () => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const packages: string[] = [];
  const visit = (path: string): void => {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) return;
    reached.add(path);
    for (const { specifier, typesOnly, dynamic } of importsOf(file)) {
      if (typesOnly || dynamic) continue;
      const target = resolveImport(path, specifier);
      if (target !== undefined) visit(target);
      else if (!specifier.startsWith("node:")) packages.push(`${path}: ${specifier}`);
    }
  };
  visit("src/bin/mp-shim.ts");
  expect(reached.size).toBeGreaterThan(5);
  expect(packages).toEqual([]);
  expect(
    [...reached].filter((path) =>
      /^src\/(broker|learning|mempalace|feeders|memory\/(ledger|index|backup))\//.test(path),
    ),
  ).toEqual([]);
});

test("no file of src re-exports another file with `export *`", () => {
  const barrels = files.filter(({ text }) => /^export \* from/m.test(text));
  expect(barrels.map(({ path }) => path)).toEqual([]);
});

test("files that are copied into agents' folders need only Node, and export only a default", () => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  for (const entry of ["src/agents/pi/palace.ts", "src/agents/opencode/palace.ts"]) {
    const reached = new Set<string>();
    const packages: string[] = [];
    const visit = (path: string): void => {
      const file = byPath.get(path);
      if (file === undefined || reached.has(path)) return;
      reached.add(path);
      for (const { specifier } of importsOf(file).filter(({ typesOnly }) => !typesOnly)) {
        const target = resolveImport(path, specifier);
        if (target !== undefined) visit(target);
        else if (!specifier.startsWith("node:")) packages.push(`${path}: ${specifier}`);
      }
    };
    visit(entry);
    expect(reached.size).toBeGreaterThan(3);
    expect(packages).toEqual([]);
    expect([...reached].filter((path) => /^src\/(wire|broker|memory|learning)\//.test(path))).toEqual([]);
    // An agent may load every export of the module as a plugin.
    const exports = byPath.get(entry)?.text.match(/^export (?!type )[a-z ]+/gm);
    expect(exports).toEqual([entry.includes("/pi/") ? "export default function palace" : "export default "]);
  }
});

// Dynamic imports do not count: the table of commands loads each command, and one command lists the table.
test("no chain of imports is circular, even if type imports count", () => {
  const targets = new Map(
    files.map((file) => [
      file.path,
      importsOf(file).flatMap(({ specifier, typesOnly, dynamic }) =>
        dynamic && !typesOnly ? [] : (resolveImport(file.path, specifier) ?? []),
      ),
    ]),
  );
  expect(circlesOf(targets)).toEqual([]);
});
