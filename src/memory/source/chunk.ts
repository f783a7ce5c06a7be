/** Cuts a document into drawers as upstream's project miner does, to the character (palace.md 5.2). */
import type { Cut } from "../../protocol/filing.ts";
import {
  DRAWER_OVERLAP,
  DRAWER_SIZE,
  DRAWER_SIZE_MAX,
  DRAWER_SIZE_MIN,
  SOURCE_DRAWERS_MAX,
} from "../../protocol/limits.ts";
import { codePointLength, strip, unitIndex, unitIndexBefore } from "../text/text.ts";
import { InvalidValue } from "../text/validate.ts";

export type Chunk = { index: number; text: string; lineStart: number; lineEnd: number };

export const USUAL_CUT: Cut = { size: DRAWER_SIZE, overlap: DRAWER_OVERLAP, sizeMin: DRAWER_SIZE_MIN };

/** Returns chunks in order. Lines count from 1 in the trimmed text. Stops after SOURCE_DRAWERS_MAX + 1 chunks, which the caller refuses. */
export function chunkDocument(document: string, { size, overlap, sizeMin }: Cut = USUAL_CUT): Chunk[] {
  const text = strip(document);
  const lines = lineCounter(text);
  const chunks: Chunk[] = [];
  // Positions count UTF-16 units, because an array of a document's code points could exceed memory. Sizes count code points, as upstream's.
  for (let start = 0; start < text.length && chunks.length <= SOURCE_DRAWERS_MAX;) {
    let end = unitIndex(text, start, size);
    if (end < text.length) end = breakPoint(text, end, unitIndex(text, start, Math.floor(size / 2)));
    const piece = strip(text.slice(start, end));
    if (codePointLength(piece) >= sizeMin) {
      chunks.push({ index: chunks.length, text: piece, lineStart: lines(start) + 1, lineEnd: lines(end) + 1 });
    }
    if (end >= text.length) break;
    start = unitIndexBefore(text, end, overlap);
  }
  return chunks;
}

/** Checks the sizes that a feeder sends. With an overlap of more than half a drawer, the cutting might never end. Errors: InvalidValue. */
export function validCut(value: unknown): Cut {
  if (value === undefined) return USUAL_CUT;
  const { size, overlap, sizeMin } = (value ?? {}) as Cut;
  const isWhole = [size, overlap, sizeMin].every((one) => Number.isSafeInteger(one) && one >= 0);
  const isCut = isWhole && size >= 1 && size <= DRAWER_SIZE_MAX && overlap <= Math.floor(size / 2) && sizeMin <= size;
  if (isCut) return { size, overlap, sizeMin };
  throw new InvalidValue(
    `cut must be a size of 1 to ${DRAWER_SIZE_MAX}, an overlap of at most half of it, and a minimum size`,
  );
}

/** Returns where a chunk ends: at the last blank line after `middle`, else at the last line end after it, else at `end`. */
function breakPoint(text: string, end: number, middle: number): number {
  const isFeed = (index: number): boolean => text[index] === "\n";
  for (let index = end - 2; index > middle; index--) if (isFeed(index) && isFeed(index + 1)) return index;
  for (let index = end - 1; index > middle; index--) if (isFeed(index)) return index;
  return end;
}

/** Returns a function that counts line feeds before a position. It walks from the previous position, which is usually near. */
function lineCounter(text: string): (position: number) => number {
  let at = 0;
  let feeds = 0;
  return (position) => {
    for (; at < position; at++) if (text[at] === "\n") feeds++;
    for (; at > position; at--) if (text[at - 1] === "\n") feeds--;
    return feeds;
  };
}
