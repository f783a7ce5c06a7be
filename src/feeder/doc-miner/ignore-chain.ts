/**
 * Applies .gitignore files as palace.md 5.1 describes: every folder's file applies below it, nearer files come later, and
 * the last matching rule wins. Used by the walk (source.ts) and by `why`. Reads .gitignore files, nothing else.
 */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Gitignore, type IgnoreVerdict } from "../../platform/gitignore.ts";

type Link = { folder: string; lines: readonly string[]; rules: Gitignore };
/** Outermost first. Paths are relative to the scanned folder, with `/`; "" is the folder itself. */
export type IgnoreChain = readonly Link[];

/** `isUndecided` marks rules that are too complex: the path is left out and reported. */
export type IgnoreHit = { file: string; pattern: string; isUndecided?: true };

const GITIGNORE_SIZE_MAX_BYTES = 1024 * 1024;

/** The chain inside `folder`, which the caller has decided to enter. */
export function enterFolder(chain: IgnoreChain, root: string, folder: string, entries: readonly string[]): IgnoreChain {
  const kept = chain.map((link) => withoutOverruled(link, folder));
  const lines = entries.includes(".gitignore") ? readLines(join(root, folder, ".gitignore")) : undefined;
  return lines === undefined ? kept : [...kept, createLink(folder, lines)];
}

/** Drops a rule that would have excluded the folder and that a nearer one overruled: it must not apply again inside. */
function withoutOverruled(link: Link, folder: string): Link {
  let kept = link;
  for (let left = link.lines.length; left > 0; left -= 1) {
    const verdict = matches(kept, folder, true);
    const rule = verdict === "undecided" ? undefined : verdict.rule;
    if (rule === undefined) return kept;
    kept = createLink(
      link.folder,
      kept.lines.filter((line) => line.trim() !== rule.trim()),
    );
  }
  return kept;
}

/** Returns a chain of one link: patterns for the whole project. */
export function rulesOf(patterns: readonly string[]): IgnoreChain {
  return patterns.length === 0 ? [] : [createLink("", patterns)];
}

function createLink(folder: string, lines: readonly string[]): Link {
  return { folder, lines, rules: new Gitignore(lines) };
}

/** Returns the rule that excludes `path`, or undefined. */
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

function matches(link: Link, path: string, isFolder: boolean): IgnoreVerdict | "undecided" {
  const inside = link.folder === "" ? path : path.slice(link.folder.length + 1);
  if (inside === "") return SILENT;
  return link.rules.test(isFolder ? `${inside}/` : inside) ?? "undecided";
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
