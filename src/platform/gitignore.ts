/**
 * The rules of one .gitignore file, matched in time proportional to rules and path: no pattern is turned into a regular expression,
 * whose backtracking a hostile one would drive for minutes. Shown equal to git itself by test/unit/platform/gitignore.test.ts.
 * Source: gitignore(5), git 2.39.
 */

/** `unignored`: a later rule has re-included the file. `rule`: the line that decided. */
export type IgnoreVerdict = { ignored: boolean; unignored: boolean; rule: string | undefined };

type Rule = { line: string; isNegative: boolean; isFolderOnly: boolean; segments: readonly Segment[] };
/** One name of a path, as a pattern has it; `ANY_DEPTH` stands for any number of names, none included. */
type Segment = readonly Token[] | typeof ANY_DEPTH;
type Token = string | typeof STAR | typeof ONE | CharacterClass;
type CharacterClass = { isNegative: boolean; ranges: readonly (readonly [from: string, to: string])[] };

const ANY_DEPTH = Symbol("**");
const STAR = Symbol("*");
const ONE = Symbol("?");
const NAMED_CLASSES: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  alnum: [
    ["0", "9"],
    ["A", "Z"],
    ["a", "z"],
  ],
  alpha: [
    ["A", "Z"],
    ["a", "z"],
  ],
  blank: [
    [" ", " "],
    ["\t", "\t"],
  ],
  digit: [["0", "9"]],
  lower: [["a", "z"]],
  punct: [
    ["!", "/"],
    [":", "@"],
    ["[", "`"],
    ["{", "~"],
  ],
  space: [
    [" ", " "],
    ["\t", "\r"],
  ],
  upper: [["A", "Z"]],
  xdigit: [
    ["0", "9"],
    ["A", "F"],
    ["a", "f"],
  ],
};

/** Steps for one path, some 10 ms: a path that needs more is undecided. */
const STEPS_MAX = 2_000_000;

export class Gitignore {
  readonly #rules: readonly Rule[];
  #steps = 0;

  constructor(lines: string | readonly string[]) {
    const list = typeof lines === "string" ? lines.replace(/^\uFEFF/, "").split("\n") : lines;
    this.#rules = list.flatMap((line) => parseRule(line) ?? []);
  }

  /** `path` is relative to the file's folder; a folder ends with "/". Undefined: the rules are too complex to be decided. */
  test(path: string): IgnoreVerdict | undefined {
    this.#steps = 0;
    const isFolder = path.endsWith("/");
    const names = inBytes(path)
      .split("/")
      .filter((name) => name !== "");
    // A file in an ignored folder cannot be re-included.
    for (let depth = 1; depth < names.length; depth++) {
      const above = this.#verdict(names.slice(0, depth), true);
      if (above === undefined || above.ignored) return above;
    }
    return this.#verdict(names, isFolder);
  }

  /** The last rule that matches decides. */
  #verdict(names: readonly string[], isFolder: boolean): IgnoreVerdict | undefined {
    for (let at = this.#rules.length - 1; at >= 0; at--) {
      const rule = this.#rules[at] as Rule;
      if (rule.isFolderOnly && !isFolder) continue;
      const doesMatch = this.#matches(rule.segments, names);
      if (this.#steps > STEPS_MAX) return undefined;
      if (doesMatch) return { ignored: !rule.isNegative, unignored: rule.isNegative, rule: rule.line };
    }
    return { ignored: false, unignored: false, rule: undefined };
  }

  /** `reached[n]`: the segments so far match the first n names. */
  #matches(segments: readonly Segment[], names: readonly string[]): boolean {
    let reached: boolean[] = names.map(() => false);
    reached = [true, ...reached];
    for (const segment of segments) {
      this.#steps += names.length + 1;
      if (this.#steps > STEPS_MAX) return false;
      const next: boolean[] = [segment === ANY_DEPTH && reached[0] === true];
      for (let n = 1; n <= names.length; n++)
        next[n] =
          segment === ANY_DEPTH
            ? reached[n] === true || next[n - 1] === true
            : reached[n - 1] === true && this.#matchesName(segment, names[n - 1] as string);
      reached = next;
      if (!reached.includes(true)) return false;
    }
    return reached[names.length] === true;
  }

  /** Backtracks to the last star alone: what an earlier star matched stays right whatever follows. */
  #matchesName(tokens: readonly Token[], name: string): boolean {
    let [token, at, star, starAt] = [0, 0, -1, 0];
    while (at < name.length) {
      this.#steps += 1;
      if (tokens[token] === STAR) [star, starAt, token] = [token, at, token + 1];
      else if (token < tokens.length && matchesOne(tokens[token] as Token, name[at] as string))
        [token, at] = [token + 1, at + 1];
      else if (star >= 0) [token, starAt, at] = [star + 1, starAt + 1, starAt + 1];
      else return false;
    }
    while (tokens[token] === STAR) token += 1;
    return token === tokens.length;
  }
}

/** Makes one character of each byte of UTF-8: git's `?` and brackets match bytes. */
function inBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function matchesOne(token: Token, character: string): boolean {
  if (typeof token === "string") return token === character;
  if (typeof token === "symbol") return true;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.isNegative;
}

/** Undefined: a blank line, a comment, or a pattern that matches nothing. */
function parseRule(text: string): Rule | undefined {
  const line = text.replace(/\r$/, "");
  let pattern = inBytes(withoutTrailingSpaces(line));
  if (pattern === "" || pattern.startsWith("#")) return undefined;
  const isNegative = pattern.startsWith("!");
  if (isNegative) pattern = pattern.slice(1);
  const isFolderOnly = pattern.endsWith("/");
  if (isFolderOnly) pattern = pattern.slice(0, -1);
  if (pattern === "" || pattern === "/") return undefined;
  const isAnchored = pattern.includes("/");
  const names = splitNames(pattern.replace(/^\//, ""));
  const segments: Segment[] = isAnchored ? [] : [ANY_DEPTH];
  for (const [at, name] of names.entries()) {
    if (name !== "**") {
      const tokens = parseName(name);
      if (tokens === undefined) return undefined;
      segments.push(tokens);
    } else if (segments.at(-1) !== ANY_DEPTH) segments.push(ANY_DEPTH);
    // "a/**" means the folder's content, not the folder itself.
    if (name === "**" && at === names.length - 1 && isAnchored) segments.push([STAR]);
  }
  return { line, isNegative, isFolderOnly, segments };
}

/** A slash separates names also after a backslash, but not in brackets. */
function splitNames(pattern: string): string[] {
  const names: string[] = [];
  let start = 0;
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] === "[") at = parseClass(pattern, at + 1)?.end ?? at;
    else if (pattern[at] === "\\" && pattern[at + 1] !== "/") at += 1;
    else if (pattern[at] === "/" || pattern[at] === "\\") {
      names.push(pattern.slice(start, at));
      if (pattern[at] === "\\") at += 1;
      start = at + 1;
    }
  }
  return [...names, pattern.slice(start)];
}

/** Trailing spaces count if a backslash precedes them. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && !isEscaped(line, end - 1)) end -= 1;
  return line.slice(0, end);
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes += 1;
  return backslashes % 2 === 1;
}

/** Undefined: it matches nothing, like a bracket that is not closed or a trailing backslash. */
function parseName(name: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < name.length; at++) {
    const character = name[at] as string;
    if (character === "*") {
      if (tokens.at(-1) !== STAR) tokens.push(STAR);
    } else if (character === "?") tokens.push(ONE);
    else if (character === "[") {
      const parsed = parseClass(name, at + 1);
      if (parsed === undefined) return undefined;
      tokens.push(parsed.token);
      at = parsed.end;
    } else if (character === "\\") {
      at += 1;
      if (at >= name.length) return undefined;
      tokens.push(name[at] as string);
    } else tokens.push(character);
  }
  return tokens;
}

/** `end`: position of its closing bracket. */
function parseClass(name: string, start: number): { token: CharacterClass; end: number } | undefined {
  const isNegative = name[start] === "!" || name[start] === "^";
  const ranges: (readonly [string, string])[] = [];
  let at = isNegative ? start + 1 : start;
  for (let isFirst = true; at < name.length; isFirst = false) {
    if (name[at] === "]" && !isFirst) return { token: { isNegative, ranges }, end: at };
    const named = /^\[:(\w*):\]/.exec(name.slice(at, at + 12));
    if (named !== null) {
      const known = NAMED_CLASSES[named[1] ?? ""];
      if (known === undefined) return undefined;
      ranges.push(...known);
      at += named[0].length;
      continue;
    }
    const from = one(name, at);
    if (from === undefined) return undefined;
    at = from.next;
    if (name[at] === "-" && at + 1 < name.length && name[at + 1] !== "]") {
      const to = one(name, at + 1);
      if (to === undefined) return undefined;
      ranges.push([from.character, to.character]);
      at = to.next;
    } else ranges.push([from.character, from.character]);
  }
  return undefined;
}

function one(name: string, at: number): { character: string; next: number } | undefined {
  const isQuoted = name[at] === "\\";
  const character = name[isQuoted ? at + 1 : at];
  return character === undefined ? undefined : { character, next: at + (isQuoted ? 2 : 1) };
}
