/** Finds a text's concepts, that is, its words and its sequences of two or three words (outcome-memory.md 8.2). Pure. */
import { compareText } from "../../memory/text/text.ts";

const NO_WORD = /[^\p{L}\p{N}_\s-]/gu;
const SHORTEST_WORD = 3;
const SHORTEST_SINGLE = 4;
const LONGEST_RUN = 3;

const STOP_WORDS: ReadonlySet<string> = new Set(
  `the a an is are was were to for of with in on at by from as be this that it i you we they my your our their what when where
   how why can could would should`.split(/\s+/),
);

/** Names of tools and collections, which say nothing about the topic. Concepts that contain such a name are dropped. */
const TOOL_NAMES: readonly string[] = [
  "search_memory",
  "add_to_memory_bank",
  "create_memory",
  "update_memory",
  "archive_memory",
  "get_context_insights",
  "record_response",
  "memory_bank",
];
const OWN_WORDS: ReadonlySet<string> = new Set(
  `validated working history patterns books function parameter response request query result collection collections metadata
   timestamp document`.split(/\s+/),
);

/** Returns each concept once, sorted, so that the same text always gives the same list. */
export function concepts(text: string): string[] {
  const words = wordsOf(text);
  const found = new Set<string>();
  for (let start = 0; start < words.length; start++)
    for (let length = 1; length <= LONGEST_RUN && start + length <= words.length; length++) {
      const concept = words.slice(start, start + length).join("_");
      if ((length > 1 || concept.length >= SHORTEST_SINGLE) && !isOwn(concept)) found.add(concept);
    }
  return [...found].sort(compareText);
}

/** Returns the words in order, without stop words and words of one or two letters. */
export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(NO_WORD, " ")
    .split(/\s+/)
    .filter((word) => word.length >= SHORTEST_WORD && !STOP_WORDS.has(word));
}

function isOwn(concept: string): boolean {
  if (concept.split("_").some((part) => OWN_WORDS.has(part))) return true;
  return TOOL_NAMES.some((name) => `_${concept}_`.includes(`_${name}_`));
}
