/** Writes three long chats about one project each, from chats.jsonl and a seed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Chooser } from "../../fuzz/chooser.ts";
import { seededRandom } from "../../helpers/random.ts";
import type { Exchange, Talk } from "./talks.ts";

export const CHAT_KINDS = {
  order: "long: event order",
  summary: "long: a summary",
  instruction: "long: a standing instruction",
  preference: "long: a preference",
  update: "long: old and new value",
  multi: "long: over several sessions",
  temporal: "long: between two dates",
  contradiction: "long: a contradiction",
} as const;
type ChatKind = keyof typeof CHAT_KINDS;
type Said = { key: string; topic: string; says: string };
/** Message of the user. `terms`: word pairs of the point that began the subject; follow-ups and answers repeat them. */
type Turn = Said & { terms: string[] };
type Plan = {
  id: string;
  topics: Record<string, string[]>;
  /** Messages that each start a new subject. */
  points: Said[];
  /** Remarks that the user makes in messages after a point. */
  notes: Said[];
  questions: { kind: ChatKind; ask: string; gold: string[] }[];
};

const SEED = 350;
const SESSIONS = 5;
const FOLLOW_UPS = 4;
const FIRST_DAY = Date.UTC(2025, 1, 3, 18);
const SESSION_DAYS = 23;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const FOLLOWS = [
  "Thanks, that helps. How does the {A} fit together with the {B} here?",
  "I tried that, but the {A} still behaves strangely. Could you look at it again?",
  "Okay, I've changed the {A} as you suggested. What about the {B}?",
  "Hmm, can you explain the part about the {A} in more detail, please?",
  "Is there anything about the {B} that I should think of before I go on?",
  "That makes sense. Could you show me an example with the {A} and the {B}?",
];
const CODE = [
  "```\ndef {a}(value):\n    if value is None:\n        return None\n    return check(value, limit=10)\n```",
  "```\n{a}:\n  enabled: true\n  retries: 3\n  timeout: 20\n```",
  "```\n# {a}\nresult = load('{a}')\nassert result.ok, result.message\n```",
];
const ADVICE = [
  "1. **Review the {A}.** Start by listing what the {A} has to do, and separate that from the {B}. Keep each part small, so that you can change one without the other.",
  "2. **Handle errors around the {B}.** Decide what happens if the {B} is missing or late. Write the reason into the log, and return early instead of nesting conditions.",
  "3. **Measure before you change anything.** Note how the {A} behaves today, change one thing, then measure again. Otherwise you cannot tell whether the {B} or the {A} made the difference.",
  "### Explanation\nThe {A} runs first and hands its result to the {B}. If the {B} refuses it, the whole step is repeated, which is why a limit for the number of attempts matters.",
  "### Common mistakes\n- The {A} is checked too late.\n- The {B} is configured in two places.\n- Nobody looks at the result after the first week.",
  "### Next steps\nTry this with a small part of the project first. Once the {A} works, bring the {B} in, and share the result here so that we can refine it together.",
  "You could also think about the {B} in the long run: it tends to grow, and a simple rule for the {A} now saves a lot of work in the following months.",
  "In summary, keep the {A} simple, protect the {B}, and write a short note about the order in which things happened.",
];
const STARTS = ["Certainly!", "Great question!", "That's a solid plan.", "I understand.", "Sure, let's look at this."];

export function makeChats(): Talk[] {
  const lines = readFileSync(join(import.meta.dirname, "chats.jsonl"), "utf8")
    .trim()
    .split("\n");
  return lines.map((line, at) => makeChat(JSON.parse(line) as Plan, new Chooser(seededRandom(SEED + at))));
}

function makeChat({ id, topics, points, notes, questions }: Plan, chooser: Chooser): Talk {
  const turns = withFollowUps(points, spread(notes, chooser), chooser);
  const size = Math.ceil(turns.length / SESSIONS);
  const at = (turn: number): string =>
    new Date(FIRST_DAY + Math.floor(turn / size) * SESSION_DAYS * DAY_MS + (turn % size) * 6 * MINUTE_MS).toISOString();
  const times = new Map(turns.map(({ key }, turn) => [key, at(turn)]));
  const exchanges = turns.map((said, turn): Exchange => {
    const terms = [...(topics[said.topic] ?? []), ...said.terms];
    return { at: at(turn), user: userText(said, terms, chooser), assistant: answer(said, terms, chooser) };
  });
  return {
    id: `chat_${id}`,
    sessions: Array.from({ length: SESSIONS }, (_, session) => exchanges.slice(session * size, (session + 1) * size)),
    questions: questions.map(({ kind, ask, gold }) => ({
      kind,
      question: ask,
      gold: gold.map((key) => times.get(key) ?? ""),
    })),
  };
}

/** Gives each note a place in the chat, from 0 (start) to 1 (end). Notes whose keys have the same first letter stay in order. */
function spread(notes: readonly Said[], chooser: Chooser): (Said & { place: number })[] {
  const places = notes.map(() => chooser.below(1_000) / 1_000);
  for (let at = 1; at < notes.length; at++) {
    const [before, after] = [places[at - 1] ?? 0, places[at] ?? 0];
    if (notes[at - 1]?.key[0] !== notes[at]?.key[0] || before <= after) continue;
    [places[at - 1], places[at]] = [after, before];
  }
  return notes.map((note, at) => ({ ...note, place: places[at] ?? 0 }));
}

function withFollowUps(points: readonly Said[], notes: (Said & { place: number })[], chooser: Chooser): Turn[] {
  return points.flatMap((point, at) => {
    const own = notes.filter(({ place }) => Math.floor(place * points.length) === at);
    const empty = Array.from({ length: 1 + chooser.below(FOLLOW_UPS) }, () => ({ ...point, key: "", says: "" }));
    return [point, ...empty, ...own].map((said) => ({
      ...said,
      terms: said.topic === point.topic ? piecesOf(point) : [],
    }));
  });
}

/** Returns pairs of consecutive long words. */
function piecesOf({ says }: Said): string[] {
  return says.match(/[\p{L}\d.-]{4,} [\p{L}\d.-]{5,}/gu) ?? [];
}

/** Returns the user's message: a point as it is, or a follow-up question that may contain a note. */
function userText({ key, says }: Said, terms: readonly string[], chooser: Chooser): string {
  const code = chooser.chance(0.35) ? [filled(chooser.pick(CODE), terms, chooser)] : [];
  const isPoint = says.length > 100 || (key !== "" && says.includes("?"));
  if (isPoint) return [says, ...code].join("\n");
  const follow = filled(chooser.pick(FOLLOWS), terms, chooser);
  const parts = says === "" ? [follow] : chooser.chance(0.5) ? [follow, says] : [says, follow];
  return [parts.join(" "), ...code].join("\n");
}

function answer({ says }: Said, terms: readonly string[], chooser: Chooser): string {
  const advice = Array.from({ length: 6 + chooser.below(7) }, () => filled(chooser.pick(ADVICE), terms, chooser));
  const echo = says !== "" && chooser.chance(0.5) ? [`You mentioned: ${says.split(/(?<=[.?!]) /)[0] ?? ""}`] : [];
  const code = filled(chooser.pick(CODE), terms, chooser);
  return [chooser.pick(STARTS), ...echo, ...advice.slice(0, 3), code, ...advice.slice(3)].join("\n\n");
}

function filled(text: string, terms: readonly string[], chooser: Chooser): string {
  const [one, other] = [chooser.pick(terms), chooser.pick(terms)];
  return text
    .replaceAll("{A}", one)
    .replaceAll("{B}", other)
    .replaceAll("{a}", one.toLowerCase().replaceAll(/\W+/g, "_"));
}
