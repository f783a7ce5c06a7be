/** Matches paths with a .gitignore file (git 2.39), without regular expressions, which a hostile pattern would slow to minutes. */
import { PATH_SIZE_MAX_BYTES } from "./path-size.ts";

/** Verdict about a path. `unignored`: a rule with `!` includes the path. `rule`: the line that decided. */
export type IgnoreVerdict = { ignored: boolean; unignored: boolean; rule: string | undefined };

type Rule = { line: string; isNegative: boolean; isFolderOnly: boolean; segments: readonly Segment[] };
/** Pattern for one name of a path. A string matches itself, and tokens match bytes. `MANY` matches any number of names, even 0. */
type Segment = string | readonly Token[] | typeof MANY;
/** Pattern for one byte. `MANY` matches any number of bytes, even 0. */
type Token = string | typeof ONE | ByteSet | typeof MANY;
/** Set of byte values, as eight words of 32 bits. */
type ByteSet = readonly number[];

const MANY = Symbol("*");
const ONE = Symbol("?");
/** Ranges of bytes of each named class, each as first and last byte. */
const NAMED_CLASSES: ReadonlyMap<string, readonly string[]> = new Map([
  ["alnum", ["09", "AZ", "az"]],
  ["alpha", ["AZ", "az"]],
  ["blank", ["  ", "\t\t"]],
  ["cntrl", ["\0\x1f", "\x7f\x7f"]],
  ["digit", ["09"]],
  ["graph", ["!~"]],
  ["lower", ["az"]],
  ["print", [" ~"]],
  ["punct", ["!/", ":@", "[`", "{~"]],
  ["space", ["  ", "\t\n", "\r\r"]],
  ["upper", ["AZ"]],
  ["xdigit", ["09", "AF", "af"]],
]);

/** Maximum number of matching steps for one path, about 20 ms. Beyond it, the verdict is undefined. */
const STEPS_MAX = 1_000_000;
/** Maximum number of names in a pattern, and of tokens in a name. A longer pattern cannot match any path. */
const PARTS_MAX = 2 * PATH_SIZE_MAX_BYTES;

export class Gitignore {
  #rules: Rule[] = [];
  #steps = 0;

  constructor(lines: string | readonly string[]) {
    for (const line of typeof lines === "string" ? linesOf(lines) : lines) this.#add(line);
  }

  /** Reads the rules in a file's text. Calls `pause` after each line, because a file of 1 MiB would block the event loop too long. */
  static async read(text: string, pause: () => Promise<void>): Promise<Gitignore> {
    const rules = new Gitignore([]);
    for (const line of linesOf(text)) {
      rules.#add(line);
      await pause();
    }
    return rules;
  }

  /** Returns the verdict on a path relative to the file's folder, with a final "/" for a folder; undefined if it needs too many steps. */
  test(path: string): IgnoreVerdict | undefined {
    this.#steps = 0;
    const names = namesOf(path);
    // A rule cannot include a file again whose folder is ignored (as in git).
    for (let depth = 1; depth < names.length; depth++) {
      const above = this.#verdict(names.slice(0, depth), true);
      if (above === undefined || above.ignored) return above;
    }
    return this.#verdict(names, path.endsWith("/"));
  }

  /** Returns a copy for use inside `folder`, without the rules that match the folder itself; undefined if it needs too many steps. */
  without(folder: string): Gitignore | undefined {
    this.#steps = 0;
    const names = namesOf(folder);
    const others = this.#rules.filter((rule) => !this.#matches(rule, names));
    if (this.#steps > STEPS_MAX) return undefined;
    if (others.length === this.#rules.length) return this;
    const rest = new Gitignore([]);
    rest.#rules = others;
    return rest;
  }

  #add(line: string): void {
    const rule = parseRule(line);
    if (rule !== undefined) this.#rules.push(rule);
  }

  #verdict(names: readonly string[], isFolder: boolean): IgnoreVerdict | undefined {
    for (let at = this.#rules.length - 1; at >= 0; at--) {
      const rule = this.#rules[at] as Rule;
      const doesMatch = (isFolder || !rule.isFolderOnly) && this.#matches(rule, names);
      if (this.#steps > STEPS_MAX) return undefined;
      if (doesMatch) return { ignored: !rule.isNegative, unignored: rule.isNegative, rule: rule.line };
    }
    return { ignored: false, unignored: false, rule: undefined };
  }

  #matches({ segments }: Rule, names: readonly string[]): boolean {
    this.#steps += 1;
    return this.#matchesAll(segments, names, this.#matchesName);
  }

  readonly #matchesName = (segment: string | readonly Token[], name: string): boolean =>
    typeof segment === "string" ? segment === name : this.#matchesAll(segment, name, matchesByte);

  /** Matches a pattern with wildcards. Retries only the last `MANY`, because an earlier `MANY` never needs to match more. */
  #matchesAll<Part, Item>(
    pattern: ArrayLike<Part | typeof MANY>,
    items: ArrayLike<Item>,
    isMatch: (part: Part, item: Item) => boolean,
  ): boolean {
    let [at, next, many, manyAt] = [0, 0, -1, 0];
    while (at < items.length) {
      this.#steps += 1;
      if (this.#steps > STEPS_MAX) return false;
      const part = pattern[next];
      if (part === MANY) {
        many = next++;
        manyAt = at;
      } else if (part !== undefined && isMatch(part, items[at] as Item)) {
        next += 1;
        at += 1;
      } else if (many >= 0) {
        next = many + 1;
        at = ++manyAt;
      } else return false;
    }
    while (pattern[next] === MANY) next += 1;
    return next === pattern.length;
  }
}

function matchesByte(token: Exclude<Token, typeof MANY>, byte: string): boolean {
  if (typeof token === "string") return token === byte;
  if (token === ONE) return true;
  const code = byte.charCodeAt(0);
  return (((token[code >> 5] ?? 0) >>> (code & 31)) & 1) === 1;
}

/** Returns one character for each byte of the UTF-8 text, because git's `?` and brackets match bytes. */
function inBytes(text: string): string {
  return /[^\u0001-\u007f]/.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
}

function namesOf(path: string): string[] {
  return inBytes(path)
    .split("/")
    .filter((name) => name !== "");
}

function* linesOf(text: string): Generator<string> {
  for (let start = text.startsWith("\uFEFF") ? 1 : 0; start <= text.length;) {
    const end = text.indexOf("\n", start);
    yield text.slice(start, end < 0 ? text.length : end);
    start = end < 0 ? text.length + 1 : end + 1;
  }
}

/** Returns undefined for a blank line, a comment, or a pattern that matches nothing. */
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
  const names = parseNames(pattern.replace(/^\//, ""));
  if (names === undefined) return undefined;
  // `a/**` matches the content of the folder, not the folder itself.
  if (isAnchored && names.at(-1) === MANY) names.push([MANY]);
  const all: readonly Segment[] = isAnchored ? names : [MANY, ...names];
  // `slice` makes a copy without spare capacity, which matters for the half a million rules of a hostile file.
  const segments = all.filter((name, at) => name !== MANY || all[at - 1] !== MANY).slice();
  return { line, isNegative, isFolderOnly, segments };
}

/** Removes trailing spaces, except those after a backslash. */
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

/** Returns undefined for a pattern that matches nothing: with an open bracket or a final backslash, or too long. */
function parseNames(pattern: string): Segment[] | undefined {
  const names: Segment[] = [];
  let tokens: Token[] = [];
  let start = 0;
  for (let at = 0; at <= pattern.length; at++) {
    if (Math.max(names.length, tokens.length) > PARTS_MAX) return undefined;
    let character = pattern[at];
    const isQuoted = character === "\\";
    if (isQuoted) {
      character = pattern[++at];
      if (character === undefined) return undefined;
    }
    // An escaped slash separates names, too.
    if (character === undefined || character === "/") {
      names.push(/^\*{2,}$/.test(pattern.slice(start, isQuoted ? at - 1 : at)) ? MANY : asSegment(tokens));
      tokens = [];
      start = at + 1;
    } else if (!isQuoted && character === "[") {
      const parsed = parseClass(pattern, at + 1);
      if (parsed === undefined) return undefined;
      tokens.push(parsed.bytes);
      at = parsed.end;
    } else if (isQuoted || (character !== "*" && character !== "?")) tokens.push(character);
    else if (character === "?") tokens.push(ONE);
    else if (tokens.at(-1) !== MANY) tokens.push(MANY);
  }
  return names;
}

/** Returns a string for a name without wildcards, to save memory: a token list is a hundred times as large. */
function asSegment(tokens: readonly Token[]): Segment {
  return tokens.every((token) => typeof token === "string") ? tokens.join("") : tokens.slice();
}

/** Parses a bracket expression. `end`: position of the closing bracket. */
function parseClass(pattern: string, start: number): { bytes: ByteSet; end: number } | undefined {
  const isNegative = pattern[start] === "!" || pattern[start] === "^";
  const bytes = [0, 0, 0, 0, 0, 0, 0, 0];
  let closing = -1;
  let at = isNegative ? start + 1 : start;
  for (let isFirst = true; at < pattern.length; isFirst = false) {
    if (pattern[at] === "]" && !isFirst) return { bytes: isNegative ? bytes.map((word) => ~word) : bytes, end: at };
    if (pattern[at] === "[" && pattern[at + 1] === ":") {
      // A hostile pattern may have thousands of "[:" before one "]", so this searches for the "]" only once.
      if (closing < at + 2) closing = pattern.indexOf("]", at + 2);
      if (closing < 0) return undefined;
      if (closing - 1 >= at + 2 && pattern[closing - 1] === ":") {
        const known = NAMED_CLASSES.get(pattern.slice(at + 2, closing - 1));
        if (known === undefined) return undefined;
        for (const range of known) addBytes(bytes, range.charCodeAt(0), range.charCodeAt(1));
        at = closing + 1;
        continue;
      }
    }
    if (pattern[at] === "\\") at += 1;
    const from = pattern.charCodeAt(at);
    let to = from;
    at += 1;
    if (pattern[at] === "-" && at + 1 < pattern.length && pattern[at + 1] !== "]") {
      at += pattern[at + 1] === "\\" ? 2 : 1;
      to = pattern.charCodeAt(at);
      at += 1;
    }
    // A backward range such as `z-a` contains only its first byte.
    addBytes(bytes, from, from);
    addBytes(bytes, from, to);
  }
  return undefined;
}

function addBytes(bytes: number[], from: number, to: number): void {
  for (let word = from >> 5; word <= to >> 5; word++) {
    const low = word === from >> 5 ? from & 31 : 0;
    const high = word === to >> 5 ? to & 31 : 31;
    bytes[word] = (bytes[word] ?? 0) | ((-1 << low) & (-1 >>> (31 - high)));
  }
}
