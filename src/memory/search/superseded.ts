/**
 * Finds statements that a newer statement replaces ("we deploy on Fridays", "we deploy on Tuesdays now"). The two sentences must agree in
 * everything but the value, because a wrong match is worse than a missed one.
 */
import type { Drawer } from "../port/drawer.ts";

/** Statements of one drawer. A statement is compared only with statements of the same `group`. `time`: ISO 8601. */
export type Stated = { group: string; time: string; sentences: readonly Sentence[] };
type Sentence = { words: readonly string[]; isNew: boolean; isPast: boolean };

const READ_MAX = 600;
const SENTENCES_MAX = 12;
const WORDS_MIN = 3;
const WORDS_MAX = 30;
const VALUE_MAX = 3;
/** Minimum number of meaningful words that both sentences have in common, apart from the value. */
const SHARED_MIN = 2;

/** Words that express a change. Sentences are compared without them. */
const CHANGES =
  /\b(?:now|from now on|as of (?:now|today)|no longer|not any ?more|any ?more|instead|after all|currently|at the moment|these days|since (?:today|yesterday|then)|meanwhile|by now)\b/gi;
const PAST = /\b(?:was|were|did|had|ran|went|took|got|made|said|told|came|met|saw|bought|\p{L}{3,}ed)\b/iu;
const FILLERS = new Set(
  "a an the and or of to in on at for with by is are be has have it its we i you they this that so".split(" "),
);
const SUBJECTS = new Set("we i they you".split(" "));
const VERBS = /^(?:is|are|has|have|will|must|should|\p{L}{2,}[^s]s)$/u;
/** Words before a place or purpose: "we use it in staging now" replaces no statement about production. */
const OF_A_PLACE = new Set("in for with from of by about during on at".split(" "));
/** Words directly before a value, as in "the meeting is on Monday". */
const BEFORE_VALUE = new Set("on at is are to for until by in from about only every".split(" "));
/** Matches a number, a day or a month. */
const VALUE =
  /^(?:[\p{Sc}v]?\d[\d.,:%]*\p{L}{0,3}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)$/u;

/** Returns the statements of a note, or of the user in a transcript; undefined for a document. */
export function statedIn({ wing, room, text, metadata }: Drawer): Stated | undefined {
  const { source_file: source, ingest_mode: ingest, authored_at: authored, filed_at: filed } = metadata;
  const isTalk = ingest === "convos";
  if (isTalk ? !text.startsWith(">") : typeof source === "string" && source !== "") return undefined;
  const time = isTalk ? authored : (authored ?? filed);
  if (typeof time !== "string") return undefined;
  const end = isTalk ? text.indexOf("\n") : -1;
  const said = text.slice(isTalk ? 1 : 0, end === -1 ? READ_MAX : Math.min(end, READ_MAX));
  const group = isTalk ? JSON.stringify([wing]) : JSON.stringify([wing, room]);
  return { group, time, sentences: sentencesOf(said) };
}

/** Returns true if a sentence of `newer` says the same as a sentence of `older`, with another value. */
export function replaces(newer: Stated, older: Stated): boolean {
  if (newer.group !== older.group || newer.time <= older.time) return false;
  return newer.sentences.some((now) => older.sentences.some((then) => isReplaced(then, now)));
}

function isReplaced(then: Sentence, now: Sentence): boolean {
  const [a, b] = [then.words, now.words];
  if (a[0] !== b[0] || a[1] !== b[1] || Math.abs(a.length - b.length) >= VALUE_MAX) return false;
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [before, after] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (before.length === 0 || after.length === 0 || Math.max(before.length, after.length) > VALUE_MAX) return false;
  const [head, tail] = [a.slice(0, start), a.slice(a.length - end)];
  const areValues = before.some(isValue) && after.some(isValue);
  if (!hasPredicate(head) || telling(tail) >= SHARED_MIN) return false;
  if (now.isNew)
    return areValues || (telling(head) + telling(tail) >= SHARED_MIN && !OF_A_PLACE.has(head.at(-1) ?? ""));
  // Without a word of change, only a state counts: "I ran 5 km" and "I ran 8 km" are two events.
  const isState = !then.isPast && !now.isPast && BEFORE_VALUE.has(head.at(-1) ?? "");
  return isState && areValues && tail.length <= 1;
}

/** Returns true if the words before a value have a subject and a verb. In "room 3 is locked" the number belongs to the subject. */
function hasPredicate(head: readonly string[]): boolean {
  if (telling(head) === 0 || head.length < 2) return false;
  return SUBJECTS.has(head[0] ?? "") || head.slice(1).some((word) => VERBS.test(word));
}

function telling(words: readonly string[]): number {
  return new Set(words.filter((word) => !FILLERS.has(word))).size;
}

function isValue(word: string): boolean {
  return VALUE.test(word);
}

function sentencesOf(text: string): Sentence[] {
  return (text.match(/(?:[^.!?\n]|[.!?](?=\S))+/g) ?? []).slice(0, SENTENCES_MAX).flatMap((sentence) => {
    const rest = sentence.replaceAll(CHANGES, " ");
    const words = rest.toLowerCase().match(/[\p{L}\p{N}\p{Sc}](?:[\p{L}\p{N}.,:%'’-]*[\p{L}\p{N}%])?/gu) ?? [];
    if (words.length < WORDS_MIN || words.length > WORDS_MAX) return [];
    return [{ words, isNew: rest !== sentence, isPast: PAST.test(sentence) }];
  });
}
