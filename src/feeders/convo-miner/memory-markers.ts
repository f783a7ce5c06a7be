/**
 * Upstream's patterns and words that tell a decision, a preference, a milestone, a problem and a feeling apart. Data and
 * two pure functions. Used by general.ts. Source: upstream 3.11's general_extractor (palace.md 5.5), whose order decides
 * between equals.
 */
import { type LazyPattern, pythonPattern } from "./python-pattern.ts";

export type MemoryType = "decision" | "preference" | "milestone" | "problem" | "emotional";

/** A pattern, or two that stand in one line in this order: as one pattern they would cost the square of a long line. */
export type Marker = LazyPattern | readonly [LazyPattern, LazyPattern];

const r = String.raw;
const one = (source: string): Marker => pythonPattern(source);
const pair = (first: string, second: string): Marker => [pythonPattern(first), pythonPattern(second)];

export const MARKERS: readonly (readonly [MemoryType, readonly Marker[]])[] = [
  [
    "decision",
    [
      one(r`\blet'?s (use|go with|try|pick|choose|switch to)\b`),
      one(r`\bwe (should|decided|chose|went with|picked|settled on)\b`),
      one(r`\bi'?m going (to|with)\b`),
      one(r`\bbetter (to|than|approach|option|choice)\b`),
      one(r`\binstead of\b`),
      one(r`\brather than\b`),
      one(r`\bthe reason (is|was|being)\b`),
      one(r`\bbecause\b`),
      one(r`\btrade-?off\b`),
      one(r`\bpros and cons\b`),
      pair(r`\bover\b`, r`\bbecause\b`),
      one(r`\barchitecture\b`),
      one(r`\bapproach\b`),
      one(r`\bstrategy\b`),
      one(r`\bpattern\b`),
      one(r`\bstack\b`),
      one(r`\bframework\b`),
      one(r`\binfrastructure\b`),
      one(r`\bset (it |this )?to\b`),
      one(r`\bconfigure\b`),
      one(r`\bdefault\b`),
    ],
  ],
  [
    "preference",
    [
      one(r`\bi prefer\b`),
      one(r`\balways use\b`),
      one(r`\bnever use\b`),
      one(r`\bdon'?t (ever |like to )?(use|do|mock|stub|import)\b`),
      one(r`\bi like (to|when|how)\b`),
      one(r`\bi hate (when|how|it when)\b`),
      one(r`\bplease (always|never|don'?t)\b`),
      one(r`\bmy (rule|preference|style|convention) is\b`),
      one(r`\bwe (always|never)\b`),
      pair(r`\bfunctional\b`, r`\bstyle\b`),
      one(r`\bimperative\b`),
      one(r`\bsnake_?case\b`),
      one(r`\bcamel_?case\b`),
      pair(r`\btabs\b`, r`\bspaces\b`),
      pair(r`\bspaces\b`, r`\btabs\b`),
      pair(r`\buse\b`, r`\binstead of\b`),
    ],
  ],
  [
    "milestone",
    [
      one(r`\bit works\b`),
      one(r`\bit worked\b`),
      one(r`\bgot it working\b`),
      one(r`\bfixed\b`),
      one(r`\bsolved\b`),
      one(r`\bbreakthrough\b`),
      one(r`\bfigured (it )?out\b`),
      one(r`\bnailed it\b`),
      one(r`\bcracked (it|the)\b`),
      one(r`\bfinally\b`),
      one(r`\bfirst time\b`),
      one(r`\bfirst ever\b`),
      one(r`\bnever (done|been|had) before\b`),
      one(r`\bdiscovered\b`),
      one(r`\brealized\b`),
      one(r`\bfound (out|that)\b`),
      one(r`\bturns out\b`),
      one(r`\bthe key (is|was|insight)\b`),
      one(r`\bthe trick (is|was)\b`),
      one(r`\bnow i (understand|see|get it)\b`),
      one(r`\bbuilt\b`),
      one(r`\bcreated\b`),
      one(r`\bimplemented\b`),
      one(r`\bshipped\b`),
      one(r`\blaunched\b`),
      one(r`\bdeployed\b`),
      one(r`\breleased\b`),
      one(r`\bprototype\b`),
      one(r`\bproof of concept\b`),
      one(r`\bdemo\b`),
      one(r`\bversion \d`),
      one(r`\bv\d+\.\d+`),
      // The match starts at the first digit of a number: starting at each digit would make a long number cost its square.
      one(r`(?<!\d)\d+x (compression|faster|slower|better|improvement|reduction)`),
      one(r`(?<!\d)\d+% (reduction|improvement|faster|better|smaller)`),
    ],
  ],
  [
    "problem",
    [
      one(r`\b(bug|error|crash|fail|broke|broken|issue|problem)\b`),
      one(r`\bdoesn'?t work\b`),
      one(r`\bnot working\b`),
      pair(r`\bwon'?t\b`, r`\bwork\b`),
      one(r`\bkeeps? (failing|crashing|breaking|erroring)\b`),
      one(r`\broot cause\b`),
      one(r`\bthe (problem|issue|bug) (is|was)\b`),
      pair(r`\bturns out\b`, r`\b(was|because|due to)\b`),
      one(r`\bthe fix (is|was)\b`),
      one(r`\bworkaround\b`),
      one(r`\bthat'?s why\b`),
      one(r`\bthe reason it\b`),
      one(r`\bfixed (it |the |by )\b`),
      one(r`\bsolution (is|was)\b`),
      one(r`\bresolved\b`),
      one(r`\bpatched\b`),
      one(r`\bthe answer (is|was)\b`),
      pair(r`\b(had|need) to\b`, r`\binstead\b`),
    ],
  ],
  [
    "emotional",
    [
      one(r`\blove\b`),
      one(r`\bscared\b`),
      one(r`\bafraid\b`),
      one(r`\bproud\b`),
      one(r`\bhurt\b`),
      one(r`\bhappy\b`),
      one(r`\bsad\b`),
      one(r`\bcry\b`),
      one(r`\bcrying\b`),
      one(r`\bmiss\b`),
      one(r`\bsorry\b`),
      one(r`\bgrateful\b`),
      one(r`\bangry\b`),
      one(r`\bworried\b`),
      one(r`\blonely\b`),
      one(r`\bbeautiful\b`),
      one(r`\bamazing\b`),
      one(r`\bwonderful\b`),
      one(r`i feel`),
      one(r`i'm scared`),
      one(r`i love you`),
      one(r`i'm sorry`),
      one(r`i can't`),
      one(r`i wish`),
      one(r`i miss`),
      one(r`i need`),
      one(r`never told anyone`),
      one(r`nobody knows`),
    ],
  ],
];

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const POSITIVE = words(
  "adore amazing beautiful breakthrough brilliant excited fantastic fixed grateful happy heart hug incredible joy love loving nailed perfect precious pride proud solved success thrilled warm wonderful working works",
);
const NEGATIVE = words(
  "awful blocked breaking breaks broke broken bug crash crashed crashing disaster error fail failed failing failure horrible impossible issue mess missing panic problem stuck terrible unable worse worst wrong",
);
const WORD = pythonPattern(r`\w+`);

/** Counts different words, not their occurrences. */
export function sentimentOf(text: string): "positive" | "negative" | "neutral" {
  const found = new Set(text.match(WORD())?.map((word) => word.toLowerCase()));
  const positive = found.intersection(POSITIVE).size;
  const negative = found.intersection(NEGATIVE).size;
  return positive > negative ? "positive" : negative > positive ? "negative" : "neutral";
}

const RESOLUTION = [
  r`\b(?:fixed|solved|resolved|patched|got it working|it works|nailed it|figured (?:it )?out)\b`,
  r`\bthe (?:fix|answer|solution)\b`,
].map((source) => pythonPattern(source, "u"));

/** `lower` is the text in lower case. */
export function isResolved(lower: string): boolean {
  return RESOLUTION.some((pattern) => pattern().test(lower));
}
