/** Applies .gitignore files as palace.md 5.1 describes: nearer files come later, and the last matching rule wins. */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Gitignore, type IgnoreVerdict } from "../../base/gitignore.ts";

/** Rules of one .gitignore file; undefined if they are too complex. */
type Link = { folder: string; rules: Gitignore | undefined };
/** All .gitignore files above a path, outermost first. Paths are relative to the scanned folder, which is "". */
export type IgnoreChain = readonly Link[];

/** Rule that excludes a path. `isUndecided`: the rules are too complex to test; the path is left out and reported. */
export type IgnoreHit = { file: string; pattern: string; isUndecided?: true };

const GITIGNORE_SIZE_MAX_BYTES = 1024 * 1024;

/** Adds the .gitignore of `folder` to the chain. `entries`: names in the folder. */
export function enterFolder(chain: IgnoreChain, root: string, folder: string, entries: readonly string[]): IgnoreChain {
  const kept = chain.map((link) => withoutOverruled(link, folder));
  const lines = entries.includes(".gitignore") ? readLines(join(root, folder, ".gitignore")) : undefined;
  return lines === undefined ? kept : [...kept, { folder, rules: new Gitignore(lines) }];
}

/** Removes the rules that match the folder itself. The folder is entered in spite of them, so they must not exclude its content. */
function withoutOverruled({ folder: above, rules }: Link, folder: string): Link {
  return { folder: above, rules: rules?.without(inside(above, folder)) };
}

/** Returns a chain with patterns for the whole scanned folder. */
export function rulesOf(patterns: readonly string[]): IgnoreChain {
  return patterns.length === 0 ? [] : [{ folder: "", rules: new Gitignore(patterns) }];
}

export function findIgnoreRule(chain: IgnoreChain, path: string, isFolder: boolean): IgnoreHit | undefined {
  let hit: IgnoreHit | undefined;
  for (const link of chain) {
    const file = link.folder === "" ? ".gitignore" : `${link.folder}/.gitignore`;
    const found = matches(link, path, isFolder);
    if (found === "undecided") return { file, pattern: "rules too complex to decide", isUndecided: true };
    if (found.ignored) hit = { file, pattern: found.rule ?? "" };
    else if (found.unignored) hit = undefined;
  }
  return hit;
}

const SILENT: IgnoreVerdict = { ignored: false, unignored: false, rule: undefined };

function matches({ folder, rules }: Link, path: string, isFolder: boolean): IgnoreVerdict | "undecided" {
  const name = inside(folder, path);
  if (name === "") return SILENT;
  return rules?.test(isFolder ? `${name}/` : name) ?? "undecided";
}

function inside(folder: string, path: string): string {
  return folder === "" ? path : path.slice(folder.length + 1);
}

function readLines(file: string): string[] | undefined {
  try {
    const stat = lstatSync(file);
    if (!stat.isFile() || stat.size > GITIGNORE_SIZE_MAX_BYTES) return undefined;
    return readFileSync(file, "utf8").split(/\r?\n/);
  } catch {
    // An unreadable .gitignore must not hide the documents beside it.
    return undefined;
  }
}
