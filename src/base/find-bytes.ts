/** Searches files of any format for the bytes of given texts. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { readFolder } from "./read-folder.ts";

const READ_SIZE_BYTES = 4 * 1024 * 1024;

/** Yields the file, or all files below a folder. Skips folders whose name is in `leftOut`. */
export function* filesIn(path: string, leftOut: ReadonlySet<string>): Generator<string> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() === true) yield path;
  if (stat?.isDirectory() !== true) return;
  for (const entry of readFolder(path) ?? []) {
    if (entry.isDirectory() && !leftOut.has(entry.name)) yield* filesIn(join(path, entry.name), leftOut);
    else if (entry.isFile()) yield join(path, entry.name);
  }
}

/** Returns each text's bytes in the forms that files contain: plain, as a JSON string, and as a JSON string with non-ASCII escaped. */
export function needlesOf(texts: readonly string[]): Buffer[] {
  const forms = texts.flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    const ascii = json.replaceAll(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return [text, json, ascii];
  });
  return [...new Set(forms)].filter((form) => form !== "").map((form) => Buffer.from(form));
}

/** Returns true if the file contains one of the needles, false if the file cannot be read. */
export function holds(file: string, needles: readonly Buffer[]): boolean {
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1;
  let fd: number | undefined;
  try {
    fd = openSync(file, "r");
    const bytes = Buffer.allocUnsafe(READ_SIZE_BYTES + overlap);
    let kept = 0;
    for (let at = 0; ;) {
      const read = readSync(fd, bytes, kept, READ_SIZE_BYTES, at);
      if (read === 0) return false;
      const part = bytes.subarray(0, kept + read);
      if (needles.some((needle) => part.includes(needle))) return true;
      at += read;
      const tail = Math.min(overlap, part.length);
      bytes.copyWithin(0, part.length - tail, part.length);
      kept = tail;
    }
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
