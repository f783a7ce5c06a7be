/** Files a feeder's document with the ids and metadata of upstream's project miner (palace.md 4.7, upstream-latest.md 2.3). */
import type { IdRecipe, Metadata, NewDrawer } from "../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { KNOWN_NAMES_MAX, LANGUAGES_MAX, SOURCE_CALL_MAX_BYTES, SOURCE_DRAWERS_MAX } from "../../protocol/limits.ts";
import { buildClosets } from "../closet/closets.ts";
import { knownNames, nameTags, type Tagging } from "../closet/name-words.ts";
import { hash24, lengthJoined, recipeNote } from "../drawer/drawer-id.ts";
import { hallFinder, hallList } from "../drawer/hall.ts";
import { codePointLength, localTimestamp, strip } from "../text/text.ts";
import { InvalidValue, validName } from "../text/validate.ts";
import { chunkDocument, validCut } from "./chunk.ts";
import { addedBy, countIn, filledTextIn, optionalText, secondsIn, textIn } from "./params.ts";
import { sentText } from "./source-parts.ts";

const NORMALIZE_VERSION = 2;

/** Replaces the drawers of a source by those of a feeder's document. Errors: PROTOCOL_BAD_PARAMS. */
export function replaceSource(tx: LedgerTx, call: WriteCall): unknown {
  const answer = replaceDocument(tx, call);
  // The document is filed or refused now, so its parts, and older parts from another feeder, are not needed.
  tx.parts.drop(filledTextIn(call.params, "sourceFile"));
  return answer;
}

function replaceDocument(tx: LedgerTx, call: WriteCall): unknown {
  const given = documentOf(tx, call.params);
  const { wing, room, sourceFile, sha256, mtime, cut } = given;
  const text = strip(given.content);
  // A text that is too short replaces nothing: all older drawers of the source stay, even handwritten notes, as in upstream.
  if (text === "" || codePointLength(text.slice(0, 2 * cut.sizeMin)) < cut.sizeMin) {
    tx.putSource({ sourceFile, wing, mtime, sha256, drawers: 0 });
    return { drawers: 0, removed: 0 };
  }
  const chunks = chunkDocument(text, cut);
  if (chunks.length > given.drawersMax) return { drawers: 0, removed: 0, tooMany: chunks.length };
  const removed = tx.deleteSource(sourceFile);
  const filedAt = localTimestamp(call.atMs * 1000);
  const tagging = { recipe: tx.idRecipe(), known: knownNames(given.names), languages: given.languages };
  const drawers = drawersOf(tx, chunks, given, filedAt, tagging);
  tx.insertDrawers(drawers);
  const filed = { sourceFile, wing, room, content: text, drawers, filedAt, ...tagging };
  tx.closets.replace(sourceFile, given.isExtracted ? [] : buildClosets(filed));
  tx.putSource({ sourceFile, wing, mtime, sha256, drawers: chunks.length });
  return { drawers: chunks.length, removed };
}

type SentDocument = ReturnType<typeof documentOf>;

/** Reads and checks a feeder's document. Errors: PROTOCOL_BAD_PARAMS. */
function documentOf(tx: LedgerTx, params: WriteCall["params"]) {
  const drawersMax = params["drawersMax"] === undefined ? 0 : countIn(params, "drawersMax");
  return {
    wing: validName(params["wing"], "wing"),
    room: validName(params["room"], "room"),
    sourceFile: filledTextIn(params, "sourceFile"),
    content: documentText(tx, params),
    sha256: textIn(params, "sha256"),
    mtime: secondsIn(params, "mtime"),
    names: nameList(params["knownNames"]),
    drawersMax: Math.min(drawersMax || SOURCE_DRAWERS_MAX, SOURCE_DRAWERS_MAX),
    cut: validCut(params["cut"]),
    halls: hallList(params["halls"]),
    languages: languageList(params["languages"]),
    addedBy: addedBy(params),
    isExtracted: params["isExtracted"] === true,
    optional: {
      ...optionalText(params, "contentDate", "content_date"),
      ...optionalText(params, "contentDateSource", "content_date_source"),
      ...optionalText(params, "authoredAt", "authored_at"),
      ...optionalText(params, "sourceDirIno", "source_dir_ino"),
    },
  };
}

function drawersOf(
  tx: LedgerTx,
  chunks: ReturnType<typeof chunkDocument>,
  given: SentDocument,
  filedAt: string,
  tagging: Tagging,
): NewDrawer[] {
  const { wing, room, sourceFile } = given;
  const hallOf = hallFinder(given.halls);
  return chunks.map((chunk) => {
    const entities = nameTags(chunk.text, tagging);
    const { id, recipe } = chunkId(tx, `drawer_${wing}_${room}`, [sourceFile, String(chunk.index)]);
    const metadata: Metadata = {
      wing,
      room,
      hall: hallOf(chunk.text),
      source_file: sourceFile,
      chunk_index: chunk.index,
      added_by: given.addedBy,
      filed_at: filedAt,
      normalize_version: NORMALIZE_VERSION,
      source_mtime: given.mtime,
      line_start: chunk.lineStart,
      line_end: chunk.lineEnd,
      ...recipeNote(recipe),
      last_modified: filedAt,
      chunk_total: chunks.length,
      ...given.optional,
      ...(entities !== "" && { entities }),
    };
    return { id, text: chunk.text, metadata: given.isExtracted ? asExtracted(metadata) : metadata };
  });
}

/** Changes metadata to the form of upstream's format mode, which does not record the number of a source's drawers. */
function asExtracted({ chunk_total: _total, ...metadata }: Metadata): Metadata {
  return { ...metadata, ingest_mode: "extract", extract_mode: "format" };
}

/**
 * Makes a chunk's id. MemPalace 3.3.6 joins name and number, so chunk 11 of `notes` and chunk 1 of `notes1` get the same id. If this id is
 * taken, makes the id of 3.11 instead. Errors: PROTOCOL_BAD_PARAMS if that id is taken, too.
 */
function chunkId(tx: LedgerTx, prefix: string, parts: string[]): { id: string; recipe: IdRecipe } {
  const bare = `${prefix}_${hash24(parts.join(""))}`;
  if (tx.idRecipe() === "bare" && tx.findDrawer(bare) === undefined) return { id: bare, recipe: "bare" };
  const id = `${prefix}_${hash24(lengthJoined(...parts))}`;
  if (tx.findDrawer(id) === undefined) return { id, recipe: "v3" };
  throw new InvalidValue(`the id ${id} is a drawer of another source; nothing was changed`);
}

/** Removes the drawers and closets of a source. Errors: PROTOCOL_BAD_PARAMS. */
export function removeSource(tx: LedgerTx, call: WriteCall): unknown {
  const sourceFile = filledTextIn(call.params, "sourceFile");
  tx.parts.drop(sourceFile);
  tx.closets.remove(sourceFile);
  return { removed: tx.deleteSource(sourceFile) };
}

/** Returns the document's text from the call, or from the parts that earlier calls sent. */
function documentText(tx: LedgerTx, params: Record<string, unknown>): string {
  if (params["parts"] !== undefined) return sentText(tx, filledTextIn(params, "sourceFile"), params["parts"]);
  const content = textIn(params, "content");
  if (content.length > SOURCE_CALL_MAX_BYTES)
    throw new InvalidValue(`content exceeds ${SOURCE_CALL_MAX_BYTES} characters; send it in parts`);
  return content;
}

/** Checks the names of MemPalace's registry that a feeder sends. Errors: InvalidValue. */
export function nameList(value: unknown): string[] {
  const isList = Array.isArray(value) && value.length <= KNOWN_NAMES_MAX;
  if (value === undefined) return [];
  if (isList && value.every((name) => typeof name === "string" && name !== "")) return value as string[];
  throw new InvalidValue(`knownNames must be a list of at most ${KNOWN_NAMES_MAX} non-empty strings`);
}

/** Checks the language codes that a feeder sends. Errors: InvalidValue. */
export function languageList(value: unknown): string[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value) && value.length <= LANGUAGES_MAX;
  if (isList && value.every((code) => typeof code === "string")) return value;
  throw new InvalidValue(`languages must be a list of at most ${LANGUAGES_MAX} codes`);
}
