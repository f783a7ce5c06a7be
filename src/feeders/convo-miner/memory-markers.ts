/** Upstream's patterns for each `MemoryType`. Of types with equal scores, the first wins. Source: 3.11's general_extractor. */
import { words } from "../words.ts";
import { type LazyPattern, pythonPattern } from "./python-pattern.ts";

export type MemoryType = "decision" | "preference" | "milestone" | "problem" | "emotional";

/** Pattern, or two patterns that must match one after the other in a line. As a single pattern, the two would take quadratic time. */
export type Marker = LazyPattern | readonly [LazyPattern, LazyPattern];

const r = String.raw;
const one = (source: string): Marker => pythonPattern(source);

/** Splits a text at its semicolons into patterns of whole words. The text `a ... b` becomes a pair of patterns. */
function phrases(text: string): Marker[] {
  return text
    .trim()
    .split(/;\s+/)
    .map((source): Marker => {
      const [first = "", second] = source.split(" ... ").map((part) => r`\b${part}\b`);
      return second === undefined ? one(first) : [pythonPattern(first), pythonPattern(second)];
    });
}

export const MARKERS: readonly (readonly [MemoryType, readonly Marker[]])[] = [
  [
    "decision",
    phrases(r`
let'?s (use|go with|try|pick|choose|switch to); we (should|decided|chose|went with|picked|settled on); i'?m going (to|with);
better (to|than|approach|option|choice); instead of; rather than; the reason (is|was|being); because; trade-?off;
pros and cons; over ... because; architecture; approach; strategy; pattern; stack; framework; infrastructure;
set (it |this )?to; configure; default`),
  ],
  [
    "preference",
    phrases(r`
i prefer; always use; never use; don'?t (ever |like to )?(use|do|mock|stub|import); i like (to|when|how);
i hate (when|how|it when); please (always|never|don'?t); my (rule|preference|style|convention) is; we (always|never);
functional ... style; imperative; snake_?case; camel_?case; tabs ... spaces; spaces ... tabs; use ... instead of`),
  ],
  [
    "milestone",
    [
      ...phrases(r`
it works; it worked; got it working; fixed; solved; breakthrough; figured (it )?out; nailed it; cracked (it|the); finally;
first time; first ever; never (done|been|had) before; discovered; realized; found (out|that); turns out;
the key (is|was|insight); the trick (is|was); now i (understand|see|get it); built; created; implemented; shipped; launched;
deployed; released; prototype; proof of concept; demo`),
      one(r`\bversion \d`),
      one(r`\bv\d+\.\d+`),
      // A match starts only at a number's first digit; otherwise a long number would take quadratic time.
      one(r`(?<!\d)\d+x (compression|faster|slower|better|improvement|reduction)`),
      one(r`(?<!\d)\d+% (reduction|improvement|faster|better|smaller)`),
    ],
  ],
  [
    "problem",
    phrases(r`
(bug|error|crash|fail|broke|broken|issue|problem); doesn'?t work; not working; won'?t ... work;
keeps? (failing|crashing|breaking|erroring); root cause; the (problem|issue|bug) (is|was); turns out ... (was|because|due to);
the fix (is|was); workaround; that'?s why; the reason it; fixed (it |the |by ); solution (is|was); resolved; patched;
the answer (is|was); (had|need) to ... instead`),
  ],
  [
    "emotional",
    [
      ...phrases(r`
love; scared; afraid; proud; hurt; happy; sad; cry; crying; miss; sorry; grateful; angry; worried; lonely; beautiful;
amazing; wonderful`),
      // Upstream looks for these patterns inside words, too.
      ..."i feel; i'm scared; i love you; i'm sorry; i can't; i wish; i miss; i need; never told anyone; nobody knows"
        .split("; ")
        .map(one),
    ],
  ],
];

const POSITIVE = new Set(
  words(
    "adore amazing beautiful breakthrough brilliant excited fantastic fixed grateful happy heart hug incredible joy love loving nailed perfect precious pride proud solved success thrilled warm wonderful working works",
  ),
);
const NEGATIVE = new Set(
  words(
    "awful blocked breaking breaks broke broken bug crash crashed crashing disaster error fail failed failing failure horrible impossible issue mess missing panic problem stuck terrible unable worse worst wrong",
  ),
);
const WORD = pythonPattern(r`\w+`);

/** Compares the numbers of distinct positive and negative words. */
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

export function isResolved(lower: string): boolean {
  return RESOLUTION.some((pattern) => pattern().test(lower));
}
