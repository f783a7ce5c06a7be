/** Cuts a document into drawers as upstream's project miner does, to the character (palace.md 5.2). Pure. */
import { codePointLength, strip } from "./text.ts";

export type Chunk = { index: number; text: string; lineStart: number; lineEnd: number };

const SIZE = 800;
const OVERLAP = 100;
const SIZE_MIN = 50;

/** Shape: chunks in order, numbered from 0; lines are 1-based in the trimmed document. */
export function chunkDocument(document: string): Chunk[] {
  const text = strip(document);
  // Positions are code points; documents without astral characters, nearly all, are addressed directly.
  const points = codePointLength(text) === text.length ? text : Array.from(text);
  const length = points.length;
  const slice = (start: number, end: number): string =>
    typeof points === "string" ? points.slice(start, end) : points.slice(start, end).join("");
  const lines = lineCounter(points);

  const chunks: Chunk[] = [];
  for (let start = 0; start < length;) {
    let end = Math.min(start + SIZE, length);
    if (end < length) end = breakPoint(points, start, end);
    const piece = strip(slice(start, end));
    if (codePointLength(piece) >= SIZE_MIN) {
      chunks.push({ index: chunks.length, text: piece, lineStart: lines(start) + 1, lineEnd: lines(end) + 1 });
    }
    if (end >= length) break;
    start = end - OVERLAP;
  }
  return chunks;
}

/** The last blank line beyond the middle, else the last line end beyond it, else where the size ends. */
function breakPoint(points: string | string[], start: number, end: number): number {
  const middle = start + SIZE / 2;
  const isFeed = (index: number): boolean => points[index] === "\n";
  for (let index = end - 2; index > middle; index--) if (isFeed(index) && isFeed(index + 1)) return index;
  for (let index = end - 1; index > middle; index--) if (isFeed(index)) return index;
  return end;
}

/** Line feeds before a position, for positions asked in any order near each other. */
function lineCounter(points: string | string[]): (position: number) => number {
  let at = 0;
  let feeds = 0;
  return (position) => {
    for (; at < position; at++) if (points[at] === "\n") feeds++;
    for (; at > position; at--) if (points[at - 1] === "\n") feeds--;
    return feeds;
  };
}
