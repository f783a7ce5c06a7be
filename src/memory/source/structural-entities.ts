/** Finds code spans, addresses, paths and identifiers in a text, exactly as upstream 3.11's entities module (upstream-latest.md 2.3). */
import { codePointLength, SPACES, strip } from "../text/text.ts";

const ENTITIES_MAX = 24;
const LENGTH_MIN = 2;
const LENGTH_MAX = 64;

/** Maximum number of characters of a path. To match a longer path would take time that grows with the square of its length. */
const RUN_MAX = 1_000;
const LONG_RUN = new RegExp(String.raw`[\p{L}\p{N}_.\/-]{${RUN_MAX + 1},}`, "gu");

/** Characters that `\w` matches in Python. The patterns below also use them for Python's `\b`. */
const WORD = String.raw`[\p{L}\p{N}_]`;
const START = `(?<!${WORD})`;
const END = `(?!${WORD})`;

/** Matches a path. It may begin with a dot or hyphen only after a letter, because `\b` requires that a word ends or begins there. */
const PATH = new RegExp(
  String.raw`(?:${START}(?=${WORD})|(?<=${WORD})(?!${WORD}))[\p{L}\p{N}_.-]+\/[\p{L}\p{N}_.\/-]*\.[A-Za-z][A-Za-z0-9]{0,4}${END}`,
  "gu",
);

/** Patterns in upstream's order, which decides between entities with the same count. */
const PATTERNS: readonly RegExp[] = [
  /`([^`\n]{2,64})`/gu,
  new RegExp(String.raw`https?:\/\/[^${SPACES})>\]}"']+`, "gu"),
  PATH,
  new RegExp(`${START}[A-Za-z][A-Za-z0-9_]+(?:\\.[A-Za-z][A-Za-z0-9_]+)+${END}`, "gu"),
  new RegExp(`${START}[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+${END}`, "gu"),
  new RegExp(`${START}_?[a-z][a-z0-9]*(?:_[a-z0-9]+)+_?${END}`, "gu"),
];

/** Returns at most 24 entities joined by `;`, the most frequent first. Empty for a text without entities. */
export function structuralEntities(text: string): string {
  const found = new Map<string, { count: number; token: string }>();
  const paths = text.length > RUN_MAX ? text.replace(LONG_RUN, " ") : text;
  for (const pattern of PATTERNS) {
    for (const match of (pattern === PATH ? paths : text).matchAll(pattern)) {
      const token = clean(match[1] ?? match[0]);
      const length = codePointLength(token);
      if (length < LENGTH_MIN || length > LENGTH_MAX) continue;
      const key = token.toLowerCase();
      const entity = found.get(key);
      if (entity === undefined) found.set(key, { count: 1, token });
      else entity.count += 1;
    }
  }
  return [...found.values()]
    .sort((a, b) => b.count - a.count)
    .slice(0, ENTITIES_MAX)
    .map(({ token }) => token)
    .join(";");
}

const EDGE = new Set("`.,:()[]{}<>\"'");

function clean(token: string): string {
  const bare = strip(token.replaceAll(";", " "));
  let start = 0;
  let end = bare.length;
  while (start < end && EDGE.has(bare.charAt(start))) start += 1;
  while (end > start && EDGE.has(bare.charAt(end - 1))) end -= 1;
  return strip(bare.slice(start, end));
}
