/** Files of the tree, for tests about the tree itself. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export type SourceFile = { path: string; text: string };

/** Returns every file below a folder of the repository whose name has one of the endings. Paths are relative to the root. */
export function sourceFiles(folder: string, ...endings: string[]): SourceFile[] {
  const wanted = endings.length === 0 ? [".ts", ".tsx"] : endings;
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && wanted.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

export type Import = { specifier: string; typesOnly: boolean; dynamic: boolean };

const STATIC = /^(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gms;
const DYNAMIC = /\bimport\(\s*"([^"]+)"/g;

/** Returns a file's imports, read from its text. `import { type A }` counts as an import of values, because the module is still loaded. */
export function importsOf({ text }: SourceFile): Import[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const statics = [...code.matchAll(STATIC)].map(([, type, specifier = ""]) => ({
    specifier,
    typesOnly: type !== undefined,
    dynamic: false,
  }));
  const types = new Set([...code.matchAll(/typeof import\(\s*"([^"]+)"/g)].map(([, specifier]) => specifier));
  const dynamics = [...code.matchAll(DYNAMIC)]
    .map(([, specifier = ""]) => specifier)
    .map((specifier) => ({ specifier, typesOnly: types.has(specifier), dynamic: true }));
  return [...statics, ...dynamics];
}

/** Returns the path from the root of the file that a relative import names, or undefined for packages and Node's modules. */
export function resolveImport(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : undefined;
}

/** Returns the circles of a graph, sorted: groups of nodes that can all be reached from one another. `edges`: the targets of each node. */
export function circlesOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const reachable = new Map([...edges.keys()].map((start) => [start, reachedFrom(edges.get(start) ?? [], edges)]));
  const groups = new Map<string, string[]>();
  for (const [start, reached] of reachable) {
    if (!reached.has(start)) continue;
    const group = [...reached].filter((other) => reachable.get(other)?.has(start)).sort();
    groups.set(group.join(" "), group);
  }
  return [...groups.values()];
}

/** Returns the nodes in `starts` and every node that can be reached from them. `edges`: the targets of each node. */
export function reachedFrom(starts: readonly string[], edges: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set(starts);
  // The loop also visits the nodes that it adds to the set.
  for (const node of reached) for (const next of edges.get(node) ?? []) reached.add(next);
  return reached;
}
