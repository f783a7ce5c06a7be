/** Cuts a book into chunks. Pure. Source: outcome-memory.md 10. */
import { DRAWER_SIZE_MAX } from "../../protocol/limits.ts";

export type Cut = { size: number; overlap: number };
export const USUAL_CUT: Cut = { size: 1000, overlap: 200 };

/** Cuts a text into chunks of about `size` UTF-16 units. Cuts a sentence only if it is the whole text or exceeds `DRAWER_SIZE_MAX`. */
export function chunks(text: string, cut: Cut = USUAL_CUT): string[] {
  if (text.length <= cut.size) return [text];
  const sentences = text.split(/(?<=[.!?])\s+/u).filter((sentence) => sentence !== "");
  const fitting = (one: string): string[] => (one.length > DRAWER_SIZE_MAX ? windows(one, cut) : [one]);
  return sentences.length <= 1 ? windows(text, cut) : ofSentences(sentences.flatMap(fitting), cut);
}

/** Cuts a text into overlapping pieces, but never within a surrogate pair. */
function windows(text: string, { size, overlap }: Cut): string[] {
  const step = size - Math.min(overlap, size - 1);
  const whole = (at: number): number => (/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += step) parts.push(text.slice(whole(at), whole(at + size)));
  return parts;
}

function ofSentences(sentences: readonly string[], { size, overlap }: Cut): string[] {
  const parts: string[] = [];
  let held: string[] = [];
  let length = 0;
  for (const sentence of sentences) {
    if (held.length > 0 && length + sentence.length > size) {
      parts.push(held.join(" "));
      held = lastOnes(held, overlap);
      length = lengthOf(held);
    }
    held.push(sentence);
    length += sentence.length + 1;
  }
  if (held.length > 0) parts.push(held.join(" "));
  return parts;
}

/** Returns the last sentences of a chunk, at most `overlap` characters, to repeat them in the next chunk. */
function lastOnes(sentences: readonly string[], overlap: number): string[] {
  let start = sentences.length;
  let length = 0;
  while (start > 0 && length + (sentences[start - 1] ?? "").length <= overlap) {
    start -= 1;
    length += (sentences[start] ?? "").length + 1;
  }
  return sentences.slice(start);
}

function lengthOf(sentences: readonly string[]): number {
  return sentences.reduce((sum, sentence) => sum + sentence.length + 1, 0);
}
