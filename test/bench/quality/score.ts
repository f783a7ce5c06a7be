/** Reads the developers' questions (questions.jsonl) and scores answers to them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Passage that answers a question: the drawers of `file` that contain `text`, with any white space between words. */
export type Passage = { file: string; text: string };
export type DocsQuestion = { id: string; kind: Kind; question: string; passages: Passage[] };
/** `path`: path of the mined file, or only its end. */
export type DocsHit = { path: string; wing: string; text: string };
export type Asked = { question: DocsQuestion; rank: number | undefined; isWeak: boolean; best: DocsHit | undefined };

export const KINDS = {
  natural: "natural",
  paraphrase: "paraphrase",
  identifier: "identifier in a question",
  bare: "bare identifier",
  long: "long prompt",
  filler: "filler words",
  typo: "typos",
  language: "another language",
  offtopic: "about something else",
  smalltalk: "asks nothing",
  wrapped: "a question inside a prompt",
  wrappedOfftopic: "the same, about something else",
} as const;
export type Kind = keyof typeof KINDS;
export const UNANSWERED: ReadonlySet<Kind> = new Set<Kind>(["offtopic", "smalltalk", "wrappedOfftopic"]);
const FIVE = 5;

export function readQuestions(): DocsQuestion[] {
  const lines = readFileSync(join(import.meta.dirname, "questions.jsonl"), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as DocsQuestion);
}

/** Returns the rank, from 1, of the first hit that contains a passage. */
export function rankOf({ passages }: DocsQuestion, hits: readonly DocsHit[]): number | undefined {
  const at = hits.findIndex((hit) => passages.some((passage) => isFrom(hit, passage) && holds(hit.text, passage.text)));
  return at === -1 ? undefined : at + 1;
}

export function holds(text: string, part: string): boolean {
  return plain(text).includes(plain(part));
}

function isFrom({ path, wing }: DocsHit, { file }: Passage): boolean {
  const [name = ""] = file.split("/");
  const page = file.slice(name.length + 1);
  if (wing !== name.replaceAll("-", "_")) return false;
  return path.includes("/") ? path.endsWith(`/${page}`) : file.endsWith(`/${path}`);
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

export type DocsFigures = { first: number; inFive: number; mrr: number; weak: number; count: number };

export function figuresOf(asked: readonly Asked[]): DocsFigures {
  const ranks = asked.map(({ rank }) => rank ?? Infinity);
  return {
    first: ranks.filter((rank) => rank === 1).length,
    inFive: ranks.filter((rank) => rank <= FIVE).length,
    mrr: ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length,
    weak: asked.filter(({ isWeak }) => isWeak).length,
    count: asked.length,
  };
}
