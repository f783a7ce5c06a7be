/** Reads the text of a book from a plain text file or from a format that the converter reads. */
import { readFileSync, statSync } from "node:fs";
import { basename, extname } from "node:path";
import { CONVERSION, Converter } from "./converter.ts";
import { FORMATS_READ } from "./format-miner/kinds.ts";
import { PalaceError, wrongUsage } from "../base/errors.ts";
import { BOOK_MAX_BYTES } from "../protocol/limits.ts";

/** Returns the file's name without extension (`stem`) and its text. Errors: CONFIG_USAGE with the reason if the file cannot be read. */
export async function readBook(path: string): Promise<{ stem: string; content: string }> {
  const stem = basename(path, extname(path));
  const content = FORMATS_READ.has(extname(path).toLowerCase()) ? await converted(path) : plain(path);
  if (Buffer.byteLength(content) > BOOK_MAX_BYTES)
    throw unread(path, `has more than ${BOOK_MAX_BYTES / 1024 ** 2} MiB of text`);
  return { stem, content };
}

async function converted(path: string): Promise<string> {
  const converter = new Converter({ ...CONVERSION, textMax: BOOK_MAX_BYTES });
  try {
    const read = await converter.read(path);
    if ("text" in read) return read.text;
    throw unread(path, read.reason);
  } finally {
    await converter.close();
  }
}

function plain(path: string): string {
  try {
    if (statSync(path).size > BOOK_MAX_BYTES) throw unread(path, `is larger than ${BOOK_MAX_BYTES / 1024 ** 2} MiB`);
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof PalaceError) throw error;
    throw unread(
      path,
      error instanceof TypeError ? "is not UTF-8 text" : (FAULTS[codeOf(error)] ?? `cannot be read (${codeOf(error)})`),
    );
  }
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "this file does not exist",
  ENOTDIR: "this file does not exist",
  EISDIR: "this is a folder, and a book is one file",
  EACCES: "this user may not read it",
};

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

function unread(path: string, why: string): PalaceError {
  return wrongUsage(
    `${path}: ${why}`,
    "name a file: palace outcome ingest FILE; a book is a text file, or .pdf .docx .pptx .xlsx .rtf .epub",
  );
}
