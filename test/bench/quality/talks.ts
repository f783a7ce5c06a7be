/** Writes six long conversations with an assistant, from talks.jsonl and a seed. They mention facts that change over time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Chooser } from "../../fuzz/chooser.ts";
import { seededRandom } from "../../helpers/random.ts";

/** Kinds of questions: about one fact, about its newest, first or last value, or about everything that was said about it. */
export const KINDS = {
  fact: "a fact",
  latest: "the latest value",
  first: "the first",
  last: "the last",
  order: "in which order",
  summary: "a summary",
  all: "all preferences",
} as const;
export type Kind = keyof typeof KINDS;
/** `says`: the user's sentences about the fact, in order of time. */
type Fact = { kind: Kind; topic: number; ask: string; says: string[] };
type Topic = { name: string; terms: string[]; asks: string[] };
type Plan = { id: string; topics: Topic[]; facts: Fact[] };

export type Exchange = { at: string; user: string; assistant: string };
/** `gold`: times of the exchanges that answer the question, in order. */
export type TalkQuestion = { kind: string; question: string; gold: string[] };
export type Talk = { id: string; sessions: Exchange[][]; questions: TalkQuestion[] };

const SEED = 35;
const SESSIONS = 10;
const EXCHANGES = 6;
const FIRST_DAY = Date.UTC(2025, 0, 6, 17);
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const OPENINGS = [
  "Hi again.",
  "Thanks, that helped.",
  "One more thing.",
  "Good evening!",
  "Back at it.",
  "Okay, next.",
];
const ASIDES = [
  "I have been thinking about the {A} since our last talk.",
  "The A is still on my mind, and the {B} as well.",
  "A friend told me that the {A} matters more than the {B}.",
  "I am not sure about the {A} yet.",
];
/** {A} and {B} are terms of the topic. {Q} is a later question of the user: real answers also contain words of later questions. */
const ADVICE = [
  "Start with the {A}: write down what you expect from it, then compare that with the {B}. Most people underestimate how strongly the two depend on each other.",
  "A common mistake is to decide on the {A} before the {B} is settled. Take a week, collect numbers, and only then commit to anything that is hard to undo.",
  "For the {A} there are three usual ways. The first is cheap and quick, the second is thorough, the third leaves the decision to somebody with more experience of the {B}.",
  "- **{A}**: check it first, since everything else builds on it.\n- **{B}**: look at it once a month.\n- Write the result of both into one list, with a date beside each line.",
  "If the {A} gives you trouble, reduce the problem until only the {B} is left. Then add one part after the other and note what changes. That takes patience, but it finds the cause nearly always.",
  "In the long run the {B} pays off more than the {A}. Plan some reserve for both, because plans change, deadlines move and people are ill now and then.",
  "Should you be in doubt, ask yourself: {Q} Once you can answer that in one sentence, the {A} falls into place and the {B} follows from it.",
  "Here is a short plan. First, look at the {A} in its present state. Second, set a goal for the {B}. Third, decide who does it and until when. Fourth, look at it again after two weeks.",
  "Many guides recommend the {B} for this, and that is fine as a beginning. What they leave out is the {A}, which decides whether the whole thing holds for more than a year.",
  "Finally, keep a record of your decisions. Later you may wonder: {Q} Then a short note beside the {A} saves you an evening of searching.",
];
const CLOSINGS = ["Tell me how it goes.", "Shall I work that out in detail?", "Let me know what you decide."];
const ECHOES = [
  "Good to know. You said: {S}",
  "Noted: {S} Let us take that into account.",
  "That is useful. {S} It changes the plan a bit.",
];

export function makeTalks(): Talk[] {
  const lines = readFileSync(join(import.meta.dirname, "talks.jsonl"), "utf8")
    .trim()
    .split("\n");
  return lines.map((line, at) => makeTalk(JSON.parse(line) as Plan, new Chooser(seededRandom(SEED + at))));
}

function makeTalk({ id, topics, facts }: Plan, chooser: Chooser): Talk {
  const count = SESSIONS * EXCHANGES;
  const free = Array.from({ length: count }, (_, at) => at);
  const said: (readonly [fact: Fact, text: string] | undefined)[] = [];
  const questions = facts.map((fact) => {
    const slots = fact.says.map(() => free.splice(chooser.below(free.length), 1)[0] ?? 0).sort((a, b) => a - b);
    slots.forEach((slot, at) => (said[slot] = [fact, fact.says[at] ?? ""]));
    const gold = fact.kind === "latest" || fact.kind === "last" ? slots.slice(-1) : slots;
    return {
      kind: fact.kind,
      question: fact.ask,
      gold: (fact.kind === "first" ? slots.slice(0, 1) : gold).map(timeOf),
    };
  });
  const exchanges = Array.from({ length: count }, (_, slot): Exchange => {
    const [fact, text] = said[slot] ?? [];
    const topic = topics[fact?.topic ?? chooser.below(topics.length)] as Topic;
    const asks = facts.filter((one) => topics[one.topic] === topic).map(({ ask }) => ask);
    return { at: timeOf(slot), user: userText(topic, text, chooser), assistant: answer(topic, text, asks, chooser) };
  });
  const sessions = Array.from({ length: SESSIONS }, (_, at) => exchanges.slice(at * EXCHANGES, (at + 1) * EXCHANGES));
  return { id, sessions, questions };
}

/** Returns an exchange's time: sessions are nine days apart, exchanges seven minutes. */
function timeOf(slot: number): string {
  const ms = FIRST_DAY + Math.floor(slot / EXCHANGES) * 9 * DAY_MS + (slot % EXCHANGES) * 7 * MINUTE_MS;
  return new Date(ms).toISOString();
}

function userText({ terms, asks }: Topic, said: string | undefined, chooser: Chooser): string {
  const parts = [
    ...(chooser.chance(0.5) ? [chooser.pick(OPENINGS)] : []),
    ...(chooser.chance(0.6) ? [filled(chooser.pick(ASIDES), terms, [], chooser)] : []),
    chooser.pick(asks),
  ];
  if (said !== undefined) parts.splice(chooser.below(parts.length + 1), 0, said);
  return parts.join(chooser.chance(0.3) ? "\n" : " ");
}

function answer({ terms, asks, name }: Topic, said: string | undefined, later: string[], chooser: Chooser): string {
  const count = 8 + chooser.below(8);
  const advice = Array.from({ length: count }, () => filled(chooser.pick(ADVICE), terms, [...asks, ...later], chooser));
  const echo = said !== undefined && chooser.chance(0.4) ? [chooser.pick(ECHOES).replace("{S}", said)] : [];
  return [...echo, `About ${name}, here is what I would do.`, ...advice, chooser.pick(CLOSINGS)].join("\n\n");
}

function filled(text: string, terms: readonly string[], asks: readonly string[], chooser: Chooser): string {
  const [one, other] = [chooser.pick(terms), chooser.pick(terms)];
  const ask = asks.length === 0 ? "" : chooser.pick(asks);
  return text.replaceAll("{A}", one).replaceAll("{B}", other).replaceAll("{Q}", ask);
}
