/** Decides which spellings name the same file: `main.zig`, `src/main.zig`, a diff's `a/src/main.zig` (MemPalace 3.11, hallways module). */
import { compareText } from "../text/text.ts";

const CODE_EXTENSIONS = new Set(
  (
    "py js ts tsx jsx mjs cjs zig swift rs go md json yaml yml toml sh c h cpp hpp java kt rb " +
    "php html css sql txt cs vue svelte"
  ).split(" "),
);

type Spelling = {
  /** Folders of the path, the innermost last. */
  folders: readonly string[];
  extension: string | undefined;
  /** Letter and rest of a path in a diff: `a/…` or `b/…`. */
  side: { letter: string; path: string } | undefined;
};

/** Maps each spelling to the file's canonical spelling. Leaves out spellings that could name several files. */
export function canonicalSpellings(names: Iterable<string>): Map<string, string> {
  const canonical = new Map<string, string>();
  for (const group of Map.groupBy(new Set(names), keyOf).values())
    for (const cluster of clustersOf(group.sort(compareText))) {
      const chosen = chooseSpelling(cluster);
      for (const name of cluster) canonical.set(name, chosen);
    }
  return canonical;
}

/** Returns the base name in lower case without a code extension, which all spellings of a file share. */
function keyOf(name: string): string {
  const base = baseOf(name);
  const extension = extensionOf(base);
  return (extension === undefined ? base : base.slice(0, -extension.length - 1)).toLowerCase();
}

/** Groups spellings of the same file. A spelling that matches two different files belongs to neither file. */
function clustersOf(group: readonly string[]): string[][] {
  if (group.length === 1) return [[...group]];
  const resolved = resolveDiffs(group);
  const spellings = group.map((name) => readSpelling(resolved.get(name) ?? name));
  const matches = new Map(
    group.map((name, one) => [
      name,
      new Set(group.filter((_, other) => isSameFile(spellings[one] as Spelling, spellings[other] as Spelling))),
    ]),
  );
  const left = new Set(
    group.filter((name) => {
      const hosts = matches.get(name) as Set<string>;
      return [...hosts].every((host) => hosts.isSubsetOf(matches.get(host) as Set<string>));
    }),
  );
  const clusters: string[][] = [];
  for (const name of group) {
    if (!left.has(name)) continue;
    const cluster = group.filter((other) => left.has(other) && matches.get(name)?.has(other));
    clusters.push(cluster);
    for (const one of cluster) left.delete(one);
  }
  return clusters;
}

/** Chooses the path with the most folders or, without folders, the shortest name. A diff's `a/…` or `b/…` is chosen last. */
function chooseSpelling(cluster: readonly string[]): string {
  const resolved = resolveDiffs(cluster);
  const rank = (name: string): [number, number, number] => [
    resolved.has(name) ? 1 : 0,
    -partsOf(resolved.get(name) ?? name).slice(0, -1).length,
    Array.from(name).length,
  ];
  const [best = ""] = cluster.toSorted((a, b) => {
    const [one, other] = [rank(a), rank(b)];
    const at = one.findIndex((value, index) => value !== other[index]);
    return at < 0 ? compareText(a, b) : (one[at] ?? 0) - (other[at] ?? 0);
  });
  return best;
}

/** Maps `a/x` and `b/x` to `x` if `names` contains both. */
function resolveDiffs(names: readonly string[]): Map<string, string> {
  const sides = new Map(names.map((name) => [name, sideOf(name)] as const));
  const present = new Set([...sides.values()].flatMap((side) => (side === undefined ? [] : side.letter + side.path)));
  const resolved = new Map<string, string>();
  for (const [name, side] of sides)
    if (side !== undefined && present.has((side.letter === "a" ? "b" : "a") + side.path)) resolved.set(name, side.path);
  return resolved;
}

function isSameFile(a: Spelling, b: Spelling): boolean {
  if (a.extension !== undefined && b.extension !== undefined && a.extension !== b.extension) return false;
  if (a.side !== undefined && b.side !== undefined && a.side.letter !== b.side.letter && a.side.path === b.side.path)
    return true;
  const [short, long] = a.folders.length <= b.folders.length ? [a.folders, b.folders] : [b.folders, a.folders];
  const skipped = long.length - short.length;
  return short.every((folder, index) => long[skipped + index] === folder);
}

function readSpelling(name: string): Spelling {
  return {
    folders: partsOf(name).slice(0, -1),
    extension: extensionOf(baseOf(name))?.toLowerCase(),
    side: sideOf(name),
  };
}

function sideOf(name: string): Spelling["side"] {
  const [letter = "", ...rest] = partsOf(name);
  return (letter === "a" || letter === "b") && rest.length > 0 ? { letter, path: rest.join("/") } : undefined;
}

function partsOf(name: string): string[] {
  return name.replaceAll("\\", "/").split("/").filter(Boolean);
}

function baseOf(name: string): string {
  const path = name.replaceAll("\\", "/").replace(/\/+$/, "");
  return path.slice(path.lastIndexOf("/") + 1);
}

function extensionOf(base: string): string | undefined {
  const dot = base.lastIndexOf(".");
  const extension = base.slice(dot + 1);
  return dot > 0 && CODE_EXTENSIONS.has(extension.toLowerCase()) ? extension : undefined;
}
