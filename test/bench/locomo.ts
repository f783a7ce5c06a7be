/** Reads LoCoMo's development half, beside the checkout, and scores lists of hits (metrics: docs/lab/search-recipe.md). */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../helpers/palace.ts";

export type Turn = { id: string; speaker: string; text: string; caption?: string };
export type Session = { id: string; date: string; turns: Turn[] };
export type Question = { question: string; category: number; evidence: string[]; evidence_raw?: string[] };
export type Conversation = { id: string; sessions: Session[]; questions: Question[] };
/** Scored fields of a hit. The wing names the conversation, the source file names the session. */
export type ScoredHit = { text: string; source_file: string; wing: string };

/** A session's text, and each turn's range in it. */
export type Placed = { text: string; turns: Map<string, [start: number, end: number]> };
export type Figures = { recall5: number; recall10: number; hit5: number; hit10: number };
export type Score = Figures & { category: number };

export const CATEGORIES: Readonly<Record<number, string>> = {
  1: "multi-hop",
  2: "temporal",
  3: "open-domain",
  4: "single-hop",
  5: "adversarial",
};

const DATA = join(ROOT, "../shared/bench/locomo-dev.jsonl");

/** Returns undefined if the data is not beside the checkout. */
export function readConversations(): Conversation[] | undefined {
  if (!existsSync(DATA)) return undefined;
  const lines = readFileSync(DATA, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Conversation);
}

export function place({ turns }: Session): Placed {
  const placed: Placed = { text: "", turns: new Map() };
  for (const { id, speaker, text, caption } of turns) {
    const line = `${speaker}: ${text}${caption === undefined ? "" : ` [shared image: ${caption}]`}`;
    placed.turns.set(id, [placed.text.length, placed.text.length + line.length]);
    placed.text += `${line}\n`;
  }
  return placed;
}

export function placeAll({ sessions }: Conversation): Map<string, Placed> {
  return new Map(sessions.map((session) => [session.id, place(session)]));
}

export function scoreHits(
  { category, evidence, evidence_raw: raw }: Question,
  hits: readonly ScoredHit[],
  conversation: string,
  placed: Map<string, Placed>,
): Score {
  const sessionOf = (hit: ScoredHit): string => `${hit.wing}/${hit.source_file.split("_")[0]}`;
  const sessions = [...new Set(hits.map(sessionOf))];
  // The recall of sessions uses LoCoMo's original evidence, like the published figures that we compare ours with.
  const labelled = new Set(
    (raw ?? evidence).flatMap((id) => /^(D\d+):/.exec(id)?.[1] ?? []).map((id) => `${slug(conversation)}/${id}`),
  );
  const recall = (k: number): number =>
    labelled.size === 0 ? 1 : sessions.slice(0, k).filter((session) => labelled.has(session)).length / labelled.size;
  const turnRank = hits.findIndex((hit) => evidence.some((turn) => holds(hit, turn, conversation, placed)));
  const hit = (k: number): number => (evidence.length === 0 ? Number.NaN : turnRank !== -1 && turnRank < k ? 1 : 0);
  return { category, recall5: recall(5), recall10: recall(10), hit5: hit(5), hit10: hit(10) };
}

/** Returns true if the hit contains at least half of the turn's characters. */
function holds(hit: ScoredHit, turnId: string, conversation: string, placed: Map<string, Placed>): boolean {
  const session = turnId.split(":")[0] ?? "";
  if (hit.wing !== slug(conversation) || hit.source_file.split("_")[0] !== session) return false;
  const place = placed.get(session);
  const turn = place?.turns.get(turnId);
  if (place === undefined || turn === undefined) return false;
  const start = place.text.indexOf(hit.text);
  const overlap = Math.min(turn[1], start + hit.text.length) - Math.max(turn[0], start);
  return start !== -1 && overlap * 2 >= turn[1] - turn[0];
}

/** Returns averages in percent. */
export function average(scores: readonly Figures[]): Figures {
  const mean = (key: keyof Figures): number => {
    const values = scores.map((one) => one[key]).filter((value) => !Number.isNaN(value));
    return (100 * values.reduce((sum, value) => sum + value, 0)) / values.length;
  };
  return { recall5: mean("recall5"), recall10: mean("recall10"), hit5: mean("hit5"), hit10: mean("hit10") };
}

/** Converts `1:56 pm on 8 May, 2023` to `2023-05-08`. */
export function isoDate(text: string): string {
  const date = new Date(`${text.split(" on ")[1] ?? text} UTC`);
  return date.toISOString().slice(0, 10);
}

export function slug(text: string): string {
  return text.toLowerCase().replaceAll("-", "_");
}
