/** Tests that the JavaScript form of each Python pattern finds the same matches as a form in which each word boundary is written out. */
import { expect, it } from "vitest";
import { MARKERS } from "../../../../src/feeders/convo-miner/memory-markers.ts";
import { END, pythonPattern, START } from "../../../../src/feeders/convo-miner/python-pattern.ts";
import { seededRandom } from "../../../helpers/random.ts";

const r = String.raw;
const SOURCES = [
  r`\bbecause\b`,
  r`\blet'?s (use|go with|try)\b`,
  r`\b(bug|error|crash)\b`,
  r`\b(?:fixed|it works|figured (?:it )?out)\b`,
  r`\bfixed (it |the |by )\b`,
  r`\bthanks?\s+[iı]da\b`,
  r`\bs?he\b`,
  r`\bhers?\b`,
  r`\w\b-\bx`,
  r`\s\b@\b`,
  r`\bversion \d`,
];
/** Characters next to a word: letters of other scripts, digits, punctuation, halves of a surrogate pair. */
const BESIDE = ["", " ", "_", "é", "1", "٣", "-", "’", "x", "\n", "😀", "\ud83d", "."];
const TEXTS = 100;

it.each(SOURCES)("%s finds the same matches as a pattern with its word boundaries written out", (source) => {
  const random = seededRandom(1);
  const pick = (of: readonly string[]): string => of[Math.floor(random() * of.length)] ?? "";
  const written = source
    .replaceAll(r`\b`, `(?:${START}|${END})`)
    .replaceAll(r`\d`, r`\p{Nd}`)
    .replaceAll(r`\w`, r`[\p{L}\p{N}_]`);
  // The words in the pattern, and its first alternative without special characters.
  const words = [
    ...source.split(/\\[bdsw]|[^a-z]+/),
    source.replaceAll(/\\[bdsw]|[?:()[\]\\+]/g, "").split("|")[0] ?? "",
  ];
  for (const flags of ["gu", "giu"]) {
    const expected = new RegExp(written, flags);
    const pattern = pythonPattern(source, flags)();
    for (let at = 0; at < TEXTS; at++) {
      const text = Array.from({ length: 6 }, () => pick(BESIDE) + pick(words) + pick(BESIDE)).join(pick(["", " "]));
      const found = (one: RegExp): unknown => [...text.matchAll(one)].map((match) => [match.index, match[0]]);
      expect(found(pattern), JSON.stringify(text)).toEqual(found(expected));
    }
  }
});

it("a pattern is built once, on first use", () => {
  // Declaring an invalid pattern does not build it, so only the call throws.
  const broken = pythonPattern("(");
  expect(() => broken()).toThrow(SyntaxError);
  for (const [, markers] of MARKERS) for (const one of markers.flat()) expect(one()).toBe(one());
});
