/** Cuts a book into chunks. Pure. Source: outcome-memory.md 10. */
export type Cut = { size: number; overlap: number };
export const USUAL_CUT: Cut = { size: 1000, overlap: 200 };

/** Lengths in characters (UTF-16), as the text is long. */
export function chunks(text: string, cut: Cut = USUAL_CUT): string[] {
  if (text.length <= cut.size) return [text];
  const sentences = text.split(/(?<=[.!?])\s+/u).filter((sentence) => sentence !== "");
  return sentences.length <= 1 ? windows(text, cut) : ofSentences(sentences, cut);
}

/** Whatever remains at the end is a chunk as well. */
function windows(text: string, { size, overlap }: Cut): string[] {
  const step = size - Math.min(overlap, size - 1);
  const parts: string[] = [];
  for (let start = 0; start < text.length; start += step) parts.push(text.slice(start, start + size));
  return parts;
}

/** A sentence is never cut, however long. */
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

/** The last sentences that are repeated at the start of the next chunk. */
function lastOnes(sentences: readonly string[], overlap: number): string[] {
  let start = sentences.length;
  let length = 0;
  while (start > 0 && length + (sentences[start - 1] ?? "").length <= overlap) {
    start -= 1;
    length += (sentences[start] ?? "").length + 1;
  }
  return sentences.slice(start);
}

/** Each counts the space after it. */
function lengthOf(sentences: readonly string[]): number {
  return sentences.reduce((sum, sentence) => sum + sentence.length + 1, 0);
}
