/** Files a document as a book, removes a book or lists books (outcome-memory.md 10). A search includes books only on request. */
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryReader, MemoryTx } from "../../memory/port/memory.ts";
import { badParams } from "../../base/errors.ts";
import { BOOK_MAX_BYTES, DRAWER_SIZE_MAX } from "../../protocol/limits.ts";
import type { Book } from "../../protocol/outcome.ts";
import type { Methods } from "../../protocol/spec.ts";
import { sha256Hex, wellFormed } from "../../memory/text/text.ts";
import { asText } from "../../memory/text/validate.ts";
import { chunks, type Cut, USUAL_CUT } from "./cut-book.ts";
import { memoriesIn } from "./list-memories.ts";
import { newStanding, USUAL_SCORE } from "./memory.ts";
import { isoTime, MEMORY_WING } from "./as-drawer.ts";

const TITLE_MAX = 500;
const CHUNK_MIN = 100;
const SOURCE = "roampal book: ";

export function sourceOfBook(title: string): string {
  return SOURCE + title;
}

/** Files a book, unless a book with its title exists. Errors: PROTOCOL_BAD_PARAMS. */
export function ingestBook(tx: MemoryTx, call: WriteCall): Methods["book.ingest"]["result"] {
  const { params, key, atMs, peer } = call;
  const title = titleOf(params);
  const content = wellFormed(textOf(params, "content").replaceAll("\0", ""));
  if (content.trim() === "") throw badParams("content contains no text");
  if (Buffer.byteLength(content) > BOOK_MAX_BYTES) throw badParams(`content exceeds ${BOOK_MAX_BYTES} bytes`);
  const cut = cutOf(params);
  const held = tx.drawersOfSource(sourceOfBook(title));
  const [first] = held;
  if (first !== undefined) return { title, chunks: held.length, isNew: false, id: first.id.replace(/_chunk_\d+$/, "") };
  const texts = chunks(content, cut).filter((text) => text.trim() !== "");
  const common = {
    ...{ wing: MEMORY_WING, room: "books", source_file: sourceOfBook(title), title, source: textOf(params, "source") },
    ...{ total_chunks: texts.length, added_by: peer.agent, created_at: isoTime(atMs) },
  };
  const book = freeBook(tx, key);
  const drawers = texts.map((text, at) => ({
    id: `${book}_chunk_${at}`,
    text,
    metadata: { ...common, chunk_index: at },
  }));
  tx.insertDrawers(drawers);
  for (const { id } of drawers) tx.standings.put(id, newStanding(USUAL_SCORE.books));
  return { title, chunks: drawers.length, isNew: true, id: book };
}

export function removeBook(tx: MemoryTx, { params }: WriteCall): { title: string; removed: number } {
  const title = titleOf(params);
  return { title, removed: tx.deleteSource(sourceOfBook(title)) };
}

export async function listBooks(reader: MemoryReader): Promise<{ books: Book[] }> {
  const books = new Map<string, Book>();
  for await (const { metadata } of memoriesIn({ reader }, "books")) {
    const [title, source, at] = [metadata["title"], metadata["source"], metadata["created_at"]].map((value) =>
      asText(value ?? ""),
    );
    const book = books.get(title ?? "") ?? { title: title ?? "", source: source ?? "", at: at ?? "", chunks: 0 };
    books.set(book.title, { ...book, chunks: book.chunks + 1 });
  }
  return { books: [...books.values()] };
}

function freeBook(tx: MemoryTx, seed: string): string {
  for (let nth = 0; ; nth++) {
    const book = `books_${sha256Hex(`${seed} ${nth}`).slice(0, 8)}`;
    if (!tx.isTaken(`${book}_chunk_0`)) return book;
  }
}

/** Reads the chunk sizes. Refuses an overlap above half of `size`, because the chunks would become too long. */
function cutOf({ size: givenSize, overlap: givenOverlap }: WriteCall["params"]): Cut {
  const size = givenSize ?? USUAL_CUT.size;
  if (typeof size !== "number" || !(size >= CHUNK_MIN && size <= DRAWER_SIZE_MAX))
    throw badParams(`size must be ${CHUNK_MIN} to ${DRAWER_SIZE_MAX} characters`);
  const overlap = givenOverlap ?? Math.min(USUAL_CUT.overlap, size / 2);
  if (typeof overlap !== "number" || !(overlap >= 0 && overlap <= size / 2))
    throw badParams("overlap must be 0 to half of size");
  return { size: Math.trunc(size), overlap: Math.trunc(overlap) };
}

function titleOf(params: WriteCall["params"]): string {
  const title = textOf(params, "title").trim();
  if (title === "" || title.length > TITLE_MAX) throw badParams(`title must have 1 to ${TITLE_MAX} characters`);
  return wellFormed(title);
}

function textOf(params: WriteCall["params"], name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw badParams(`${name} must be a string`);
}
