/** Recognises by English words the kind of a question, such as a question for a summary, for the newest statement or for advice. */

import { STOP_WORDS } from "../index/lexical/stop-words.ts";

/** Kind of a question. `subject`: the question without a frame such as "summarise … throughout our chats". */
export type Asks = {
  /** Set if the question asks for everything about a subject. `order`: as a sequence; `all`: as a summary or list. */
  everything: "order" | "all" | undefined;
  subject: string;
  /** Set if the question asks for the newest or the oldest statement about something. */
  end: "newest" | "oldest" | undefined;
  /** True if the question asks for earlier values. A statement that a newer one replaces then keeps its rank. */
  isPast: boolean;
  /** Set if the user's wishes ("always …") matter. `all`: the question is about wishes. `advice`: it asks for advice. */
  wishes: "all" | "advice" | undefined;
  /** True if the question asks for nothing ("ok thanks, go on"), so no drawer is an answer. */
  isSmallTalk: boolean;
};

const TALKS = "(?:conversations?|chats?|talks|discussions?|sessions?|messages|exchanges|project)";
const SAID =
  "(?:brought up|bring up|raised?|discuss(?:ed)?|mention(?:ed)?|talk(?:ed)? about|ask(?:ed)? about|introduced?)";

const ORDER = new RegExp(
  [
    "\\b(?:what|which) (?:order|sequence)\\b",
    "\\b(?:order|sequence) (?:in which|that|of (?:events|topics|things)|(?:i|we) )",
    "\\blist the order\\b",
    "\\bchronolog",
    "\\btimeline of\\b",
    "\\bhow did .{1,80} unfold\\b",
  ].join("|"),
  "i",
);
const ALL = new RegExp(
  [
    "\\bsummari[sz]e\\b|\\bsummary (?:of|about|on)\\b|\\bsum up\\b",
    "\\brecap\\b",
    "\\b(?:complete|comprehensive|full|thorough|detailed) (?:overview|account|picture) of\\b",
    "\\boverview of how\\b",
    "\\b(?:all|every|each)(?: of)? (?:of )?(?:my|our|the) (?:\\w+ )?(?:preferences?|rules?|wish(?:es)?|requirements?|instructions?|decisions?|goals?|plans?)\\b",
    "\\blist (?:all|every|everything)\\b",
    "\\b(?:all|every|everything)(?: of)? (?:the \\w+ )?(?:that )?(?:i|we) (?:have |had )?(?:ever )?(?:said|told|wanted|want|like|decided|tried|did|wished|asked)\\b",
    "\\bhow (?:has|have|did|do|does) .{1,100}\\b(?:progress|evolve|develop|change)(?:e?d)?\\b.{0,40}\\b(?:over|throughout|across|so far|since|until|from)\\b",
    "\\bhow (?:has|have) .{1,100}\\b(?:progressed|evolved|developed)\\b",
    `\\b(?:throughout|across|over the course of) (?:all )?(?:my|our|the) (?:\\w+ )?${TALKS}\\b`,
  ].join("|"),
  "i",
);

/** Words around the subject of a question about everything. A search for these words would find the wrong drawers. */
const FRAME = [
  "\\b(?:can|could|would|will) you(?: please)?\\b",
  "\\bplease\\b",
  "\\b(?:give|provide|show|tell|walk|take|list)(?: me| us)?(?: through| with| about)?\\b",
  "\\b(?:a |an |the )?(?:(?:short|brief|clear|complete|comprehensive|full|thorough|detailed) )*(?:summary|overview|recap|account|picture|timeline)(?: of| about)?\\b",
  "\\b(?:summari[sz]e|sum up)\\b",
  "\\brecap\\b",
  `\\b(?:in )?(?:what|which|the) (?:order|sequence)(?: in which| that| of)?(?: (?:did|do|have))?(?: (?:i|we))?(?: ${SAID})?`,
  `\\b(?:i|we) (?:have )?${SAID}\\b`,
  "\\b(?:the )?(?:different|various|several|all)? ?(?:aspects|topics|issues|matters|subjects|questions)(?: of| about| with| around| on)?\\b",
  `\\b(?:throughout|across|during|in|over(?: the course of)?) (?:all )?(?:of )?(?:my|our|the) (?:\\w+ )?${TALKS}\\b`,
  "\\bfrom (?:the )?(?:first|earliest|beginning|start)(?: one)?,? (?:to|until|till) (?:the )?(?:last|latest|end|now|today)(?: one)?\\b",
  "\\bin (?:chronological )?order\\b",
  "\\bchronological(?:ly)?\\b",
  "\\b(?:mention|list|give|name)(?: me)?(?: only)?(?: and only)? (?:\\w+ )?(?:items?|points?|things?)\\b",
  "\\b(?:over time|so far|until now|up to now|as a whole)\\b",
  "\\bhow (?:did|has|have|do)\\b",
  "\\b(?:progress(?:ed)?|evolv(?:ed?)|develop(?:ed)?|unfold(?:ed)?|chang(?:ed?))\\b",
];
const FRAMES = new RegExp(FRAME.join("|"), "gi");
const SUBJECT_MIN = 4;

const NEWEST =
  /\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|at the moment|right now|as of now|these days|nowadays|up[- ]to[- ]date|last|now)\b/i;
const OLDEST = /\b(?:first|earliest|original(?:ly)?|initial(?:ly)?|(?:at|in) the (?:very )?beginning|to begin with)\b/i;
/** Matches uses of "first", "last" or "now" that do not mean a time: "the first argument", "last week", "now that". */
const NO_END =
  /\b(?:last (?:\d+|few|two|three|week|month|year|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday|name|line|argument|element|item|character|column|row)|first (?:\d+|few|two|three|name|line|argument|element|item|character|column|row|time setup|class|party)|at first|now that|right away|at last|last long|how long (?:\w+ ){1,5}last)\b/gi;
const PAST =
  /\b(?:first|earliest|original(?:ly)?|initial(?:ly)?|before|previous(?:ly)?|former(?:ly)?|earlier|old|used to|history|changed?|past|at the beginning|in the beginning|ever|was|were|did)\b/i;

const WISHES =
  /\b(?:preferences?|my (?:\w+ )?(?:rules?|wish(?:es)?|instructions?|likes|dislikes)|do i (?:prefer|like|want)|should you (?:format|write|answer|reply))\b/i;
const ADVICE =
  /\b(?:(?:can|could|would|will) you|how (?:should|would|do|can|could) (?:i|we|you)|what (?:should|would|could|can|are the steps)|which \w+(?: \w+)? (?:should|would) (?:i|we|you)|recommend|suggest|advi[sc]e|show me|help me|explain|write me|plan|steps|what do you think)\b/i;

const words = (list: string): string[] => list.split(" ");
const TALK = new Set(
  words(
    "ok okay yes yeah yep no nope thanks thank thx ty cheers please hello hi hey bye perfect awesome sounds mind continue proceed",
  ),
);
/** Words that small talk may also contain. A query with only these words is not small talk. */
const BESIDE_TALK = new Set(
  words(
    "go going ahead next start good great nice fine cool sure right exactly correct lets let us do it well done works work worked one two " +
      "never forget found today morning evening much lot really very wow oh got looks like other",
  ),
);
const QUESTION_WORD = /\b(?:what|where|which|who|whom|whose|when|why)\b/i;
const QUOTE = /["“”«»]/;

function isSmallTalk(query: string): boolean {
  if (QUOTE.test(query) || QUESTION_WORD.test(query)) return false;
  const plain = query.toLowerCase().replaceAll(/['’]/g, "");
  const said = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  const isKnown = (word: string): boolean => [TALK, BESIDE_TALK, STOP_WORDS].some((set) => set.has(word));
  return said.some((word) => TALK.has(word)) && said.every(isKnown);
}

export function askedFor(query: string): Asks {
  const everything = ORDER.test(query) ? "order" : ALL.test(query) ? "all" : undefined;
  const plain = query.replaceAll(NO_END, " ");
  const end =
    everything !== undefined ? undefined : OLDEST.test(plain) ? "oldest" : NEWEST.test(plain) ? "newest" : undefined;
  return {
    everything,
    subject: everything === undefined ? query : subjectOf(query),
    end,
    isPast: everything !== undefined || PAST.test(query),
    wishes: WISHES.test(query) ? "all" : everything === undefined && ADVICE.test(query) ? "advice" : undefined,
    isSmallTalk: isSmallTalk(query),
  };
}

/** Removes the frame from a question. Returns the whole question if too little is left. */
function subjectOf(query: string): string {
  const rest = query
    .replaceAll(FRAMES, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/^[\s,.?!:]+|[\s,.?!:]+$/g, "");
  return rest.replaceAll(/\b(?:my|our|the|a|of|in|i|we|and)\b|\W/gi, "").length < SUBJECT_MIN ? query : rest;
}

export const WISH =
  /\b(?:always|never|from now on|whenever|(?:every|each) time|make sure|i(?:'d| would) (?:rather|prefer)|i (?:really |strongly |generally |usually )?(?:prefer|like|love|hate|dislike)|i (?:don't|do not|never) (?:like|want)|i want you to|my preference)\b/i;
