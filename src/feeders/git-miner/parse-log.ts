/** Parses the output of `git log -z` from git.ts, one commit at a time. */
import { type PalaceError, unreadable } from "../../base/errors.ts";
import { decodeText } from "../decode.ts";

export type Commit = {
  hash: string;
  parents: string[];
  /** ISO time in the author's time zone. */
  authoredAt: string;
  author: string;
  /** The author's e-mail address, which only serves to recognise bots and is never filed. */
  address: string;
  message: string;
  /** True if a field was longer than MESSAGE_MAX_BYTES, so that only its beginning was read. */
  isTooLong: boolean;
  /** Names of the first NAMES_MAX files that the commit changed. */
  files: string[];
  fileCount: number;
};

/** Maximum length of a commit's message. A commit with a longer message is skipped, because the message must fit into one call. */
export const MESSAGE_MAX_BYTES = 1024 * 1024;
export const NAMES_MAX = 50;
/**
 * Format of a commit: an empty field and six fields with text, each ended by NUL. After them, git writes an empty field and the names of
 * the files. No name is empty, so the next empty field begins the next commit.
 */
export const LOG_FORMAT = "%x00%H%x00%P%x00%aI%x00%an%x00%ae%x00%B%x00";
const HEAD_FIELDS = 8;
const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

type Field = { bytes: Buffer; isCut: boolean };

/** Yields the commits and has only one of them in memory. Errors: FEEDER_SOURCE_UNREADABLE, and those of `chunks`. */
export async function* parseLog(chunks: AsyncIterable<Buffer>): AsyncGenerator<Commit> {
  let head: Field[] = [];
  let commit: Commit | undefined;
  for await (const field of fieldsOf(chunks)) {
    if (commit !== undefined && field.bytes.length > 0) {
      commit.fileCount += 1;
      if (commit.files.length < NAMES_MAX) commit.files.push(nameOf(field.bytes, commit.fileCount === 1));
      continue;
    }
    if (commit !== undefined) {
      yield commit;
      commit = undefined;
    }
    head.push(field);
    if (head.length < HEAD_FIELDS) continue;
    commit = commitOf(head);
    head = [];
  }
  if (head.length > 0) throw unknownForm();
  if (commit !== undefined) yield commit;
}

/** Removes the line feed that git writes before the first name. */
function nameOf(bytes: Buffer, isFirst: boolean): string {
  const name = isFirst && bytes[0] === 0x0a ? bytes.subarray(1) : bytes;
  return decodeText(name).text;
}

function commitOf(head: readonly Field[]): Commit {
  const [first = "", hash = "", parents = "", authoredAt = "", author = "", address = "", message = "", end = ""] =
    head.map(({ bytes }) => decodeText(bytes).text);
  if (first !== "" || end !== "" || !HASH.test(hash)) throw unknownForm();
  const isTooLong = head.some(({ isCut }) => isCut);
  return {
    ...{ hash, parents: parents.split(" ").filter((one) => one !== ""), authoredAt, author, address },
    ...{ message, isTooLong, files: [], fileCount: 0 },
  };
}

/** Yields the fields without their NUL. Keeps only the beginning of a field that is longer than MESSAGE_MAX_BYTES. */
async function* fieldsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Field> {
  let parts: Buffer[] = [];
  let size = 0;
  let isCut = false;
  const take = (part: Buffer): void => {
    const kept = part.subarray(0, MESSAGE_MAX_BYTES - size);
    isCut ||= kept.length < part.length;
    size += kept.length;
    if (kept.length > 0) parts.push(kept);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(0); at >= 0; at = chunk.indexOf(0, from)) {
      take(chunk.subarray(from, at));
      yield { bytes: Buffer.concat(parts), isCut };
      [parts, size, isCut] = [[], 0, false];
      from = at + 1;
    }
    take(chunk.subarray(from));
  }
  if (size > 0) throw unknownForm();
}

function unknownForm(): PalaceError {
  return unreadable("git log answered in an unknown format", "report it with the version of git: git --version");
}
