/** Describes the user when a conversation begins. outcome-memory.md 6.5 prescribes tags and labels; the sentences are ours. Pure. */
import { quoted } from "./injection.ts";
import { TAGS } from "../memory/fact-rules.ts";
import type { Weight } from "../memory/memory.ts";

const LABELS: Readonly<Record<(typeof TAGS)[number], string>> = {
  identity: "Identity",
  preference: "Preference",
  goal: "Goal",
  project: "Project",
  system_mastery: "System Mastery",
  agent_growth: "Agent Growth",
};
const SENTENCE_CHARACTERS = 300;

export type Fact = { text: string; tags: readonly string[]; weight: Weight };

/** Builds the description. `isKnown` is true if earlier memories exist. `clean` masks the secrets of a whole text. */
export function profileText(facts: readonly Fact[], isKnown: boolean, clean: (text: string) => string): string {
  const slots = new Map<string, Fact>();
  const byWeight = [...facts].sort(
    (a, b) => b.weight.importance - a.weight.importance || b.weight.confidence - a.weight.confidence,
  );
  for (const fact of byWeight) {
    const slot = TAGS.find((tag) => fact.tags.includes(tag) && !slots.has(tag));
    if (slot !== undefined) slots.set(slot, fact);
  }
  if (slots.has("identity")) {
    const lines = TAGS.flatMap((tag) => {
      const fact = slots.get(tag);
      return fact === undefined ? [] : [`${LABELS[tag]}: ${quoted(firstSentence(clean(fact.text)))}`];
    });
    return block("roampal-user-profile", lines);
  }
  const ask = `The memory does not know who the user is. When the user's name comes up, store it: add_to_memory_bank(content="…", tags=["identity"])`;
  return isKnown
    ? block("roampal-identity-missing", [ask])
    : block("roampal-new-user", [ask, `Store what the user works on, too: tags=["project"]`]);
}

function block(tag: string, lines: readonly string[]): string {
  return [`<${tag}>`, ...lines, `</${tag}>`].join("\n");
}

const ENDS: readonly string[] = [". ", ".\n", "!", "?"];

/** Returns the first sentence if it is short enough, else as many whole words as fit. */
export function firstSentence(text: string): string {
  const ends = ENDS.map((end) => text.indexOf(end));
  const at = ends.find((index) => index > 0);
  const sentence = at === undefined ? undefined : text.slice(0, at + 1).trim();
  if (sentence !== undefined && sentence.length <= SENTENCE_CHARACTERS) return sentence;
  if (text.length <= SENTENCE_CHARACTERS) return text;
  const cut = text.slice(0, SENTENCE_CHARACTERS - 3);
  const space = cut.lastIndexOf(" ");
  return `${space > 0 ? cut.slice(0, space) : cut}...`;
}
