/** Helpers of the entries in api-differences.ts: remove parts of answers, and find memories in them. */
import { isRecord } from "../mend.ts";
import type { Step } from "./api-steps.ts";

export type Row = Record<string, unknown>;

const LISTS = ["results", "relevant_memories", "user_facts"];
const ENTRY = /^(?=\d+\. \[)/m;

export function bodyOf(told: unknown): Row | undefined {
  return isRecord(told) && isRecord(told["body"]) ? told["body"] : undefined;
}

export function statusOf(told: unknown): unknown {
  return isRecord(told) ? told["status"] : undefined;
}

export function textOf(told: unknown): string | undefined {
  return isRecord(told) && typeof told["text"] === "string" ? told["text"] : undefined;
}

/** Returns a request's body, or an empty one. */
export function given(step: Step): Row {
  return step.via === "http" && isRecord(step.body) ? step.body : {};
}

export function isPath(step: Step, ...paths: readonly string[]): boolean {
  return step.via === "http" && paths.some((path) => step.path === `/api/${path}`);
}

export function isTool(step: Step, name: string): boolean {
  return step.via === "tool" && step.name === name;
}

/** Returns the sorted names of the invalid fields, or undefined if the answer is not about invalid fields. */
export function places(told: unknown): string[] | undefined {
  const detail = bodyOf(told)?.["detail"];
  if (statusOf(told) !== 422 || !Array.isArray(detail)) return undefined;
  return detail.map((one: { loc: string[] }) => one.loc.join(".")).toSorted();
}

export function mapMemories(told: unknown, change: (memory: Row) => Row): unknown {
  return mapLists(told, (memories) => memories.map(change));
}

function mapLists(told: unknown, change: (memories: Row[]) => unknown): unknown {
  const body = bodyOf(told);
  if (body === undefined) return told;
  const lists = LISTS.filter((name) => Array.isArray(body[name]));
  const changed = lists.map((name) => [name, change(body[name] as Row[])]);
  return { ...(told as Row), body: { ...body, ...Object.fromEntries(changed) } };
}

/** Reduces both answers to a question to their shared memories, in any order, and each memory to its shared keys. */
export function memoriesShared(theirs: unknown, ours: unknown, step: Step): [unknown, unknown] | undefined {
  const isAsked = isPath(step, "hooks/get-context") || (isPath(step, "search") && given(step)["query"] !== undefined);
  const [a, b] = [bodyOf(theirs), bodyOf(ours)];
  if (!isAsked || a === undefined || b === undefined) return undefined;
  const shared = (own: Row, other: Row): unknown => {
    const { count: _count, scoring_memories: toScore, ...rest } = own;
    const lists = LISTS.filter((name) => Array.isArray(own[name]) && Array.isArray(other[name]));
    const told = mapLists({ body: rest }, (memories) => {
      const others = new Map(lists.flatMap((name) => (other[name] as Row[]).map((one) => [wordsOf(one), one])));
      return memories
        .filter((one) => others.has(wordsOf(one)))
        .toSorted((x, y) => (wordsOf(x) < wordsOf(y) ? -1 : 1))
        .map((one) => onlyShared(one, others.get(wordsOf(one)) ?? {}));
    });
    const keys = Array.isArray(toScore) ? toScore.slice(0, 1).map((one: Row) => Object.keys(one).toSorted()) : toScore;
    return { ...(told as Row), toScore: keys };
  };
  return [shared(a, b), shared(b, a)];
}

/** Counts the memories that both answers to a question show. */
export function sharedCount(theirs: unknown, ours: unknown, step: Step): number {
  const [shared] = memoriesShared(theirs, ours, step) ?? [];
  const body = bodyOf(shared) ?? {};
  return LISTS.reduce((sum, name) => sum + (Array.isArray(body[name]) ? (body[name] as Row[]).length : 0), 0);
}

function wordsOf({ content, text, metadata }: Row): string {
  return String(content ?? text ?? (metadata as Row | undefined)?.["content"]);
}

function onlyShared(one: Row, other: Row): Row {
  const kept = Object.entries(one).filter(([key]) => Object.hasOwn(other, key));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      const counterpart = other[key];
      return [key, isRecord(value) && isRecord(counterpart) ? onlyShared(value, counterpart) : value];
    }),
  );
}

/** Reduces two texts to the entries that both list, in any order and without numbers. */
export function entriesShared(theirs: unknown, ours: unknown): [unknown, unknown] | undefined {
  const texts = [theirs, ours].map((told) => textOf(told));
  if (!texts.every((text) => text?.includes("result(s) for ") === true)) return undefined;
  const [a = [], b = []] = texts.map((text = "") => text.split(ENTRY).slice(1).map(entryOf));
  const only = (own: readonly Entry[], other: readonly Entry[]): unknown =>
    own
      .filter(({ words }) => other.some((one) => one.words === words))
      .toSorted((x, y) => (x.words < y.words ? -1 : 1));
  return [only(a, b), only(b, a)];
}

export type Entry = { notes: string; words: string };

function entryOf(text: string): Entry {
  const [notes = "", words = ""] = text.replace(/^\d+\. /, "").split(/(?<=\[id:\S+\]) /, 2);
  // Masks the age, because a new minute may have begun for only one of the servers.
  return { notes: notes.replace(/\((?:now|\d+m)\b/, "(<age>"), words };
}
