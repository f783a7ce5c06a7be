/** Reads files of any size by lines. Only a line feed ends a line: node:readline also splits at U+2028, which occurs in texts. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isRecord, parseJson } from "../base/parse-json.ts";

const READ_SIZE_BYTES = 1024 * 1024;
const READ_SIZE_MIN_BYTES = 4096;
const LINE_FEED = 10;

/** Yields the file's content in pieces from `start` on. All pieces share one buffer, so each overwrites the one before. */
export function* pieces(file: number, start: number): Generator<Buffer> {
  const left = Math.max(fstatSync(file).size - start, READ_SIZE_MIN_BYTES);
  const buffer = Buffer.allocUnsafe(Math.min(left, READ_SIZE_BYTES));
  for (let at = start; ;) {
    const count = readSync(file, buffer, 0, buffer.length, at);
    if (count === 0) return;
    yield buffer.subarray(0, count);
    at += count;
  }
}

/** Yields the lines from `start` on with their line feeds; the last line may lack one. */
export function* lines(file: number, start: number): Generator<Buffer> {
  let rest: Buffer[] = [];
  for (const piece of pieces(file, start)) {
    let from = 0;
    for (let feed = piece.indexOf(LINE_FEED); feed >= 0; feed = piece.indexOf(LINE_FEED, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, feed + 1)]);
      rest = [];
      from = feed + 1;
    }
    if (from < piece.length) rest.push(Buffer.from(piece.subarray(from)));
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

export function isWhole(line: Buffer): boolean {
  return line.at(-1) === LINE_FEED;
}

/** Yields the objects of a file with one JSON object per line. Skips other lines; yields nothing for a path that is not a regular file. */
export function* jsonLines(
  path: string,
  { followsLinks }: { followsLinks: boolean },
): Generator<Record<string, unknown>> {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (followsLinks ? 0 : constants.O_NOFOLLOW));
  try {
    if (!fstatSync(file).isFile()) return;
    for (const line of lines(file, 0)) {
      const value = parseJson(line.toString("utf8"));
      if (isRecord(value)) yield value;
    }
  } finally {
    closeSync(file);
  }
}
