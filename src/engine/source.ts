/**
 * Sources: a feeder's document becomes the drawers of its source_file, replacing what was filed of it before, in one
 * transaction, its closets with them. Ids and metadata as upstream's project miner writes them (palace.md 4.7, upstream-latest.md 2.3).
 */
import { KNOWN_NAMES_MAX, SOURCE_SIZE_MAX_BYTES } from "../protocol/limits.ts";
import type { IdRecipe, LedgerTx, Metadata, WriteCall } from "../store/port.ts";
import { chunkDocument } from "./chunk.ts";
import { buildClosets } from "./closets.ts";
import { hash24, lengthJoined, recipeNote } from "./drawer.ts";
import { hallOf } from "./hall.ts";
import { knownNames, nameTags } from "./name-words.ts";
import { localTimestamp, strip } from "./text.ts";
import { asTyped, InvalidValue, validName } from "./validate.ts";

const NORMALIZE_VERSION = 2;

/** Errors: PROTOCOL_BAD_PARAMS. */
export function replaceSource(tx: LedgerTx, call: WriteCall): unknown {
  const { params } = call;
  const { wing, room, sourceFile, content, sha256, mtime, names, drawersMax } = checked(() => ({
    wing: validName(params["wing"], "wing"),
    room: validName(params["room"], "room"),
    sourceFile: fileName(params),
    content: documentText(params),
    sha256: text(params, "sha256"),
    mtime: seconds(params, "mtime"),
    names: nameList(params["knownNames"]),
    drawersMax: bound(params, "drawersMax"),
  }));
  const chunks = chunkDocument(content);
  // As upstream: what is too short to be filed leaves what stands under its name alone, notes made by hand among it.
  if (chunks.length === 0) {
    tx.putSource({ sourceFile, wing, mtime, sha256, drawers: 0 });
    return { drawers: 0, removed: 0 };
  }
  if (drawersMax > 0 && chunks.length > drawersMax) return { drawers: 0, removed: 0, tooMany: chunks.length };
  const removed = tx.deleteSource(sourceFile);
  const filedAt = localTimestamp(call.atMs * 1000);
  const optional: Metadata = {
    ...optionalText(params, "contentDate", "content_date"),
    ...optionalText(params, "contentDateSource", "content_date_source"),
    ...optionalText(params, "sourceDirIno", "source_dir_ino"),
  };
  const known = knownNames(names);
  const palaceRecipe = tx.idRecipe();
  const drawers = chunks.map((chunk) => {
    const entities = nameTags(chunk.text, palaceRecipe, known);
    const { id, recipe } = chunkId(tx, `drawer_${wing}_${room}`, [sourceFile, String(chunk.index)]);
    const metadata: Metadata = {
      wing,
      room,
      hall: hallOf(chunk.text),
      source_file: sourceFile,
      chunk_index: chunk.index,
      added_by: typeof params["addedBy"] === "string" ? params["addedBy"] : "mempalace",
      filed_at: filedAt,
      normalize_version: NORMALIZE_VERSION,
      source_mtime: mtime,
      line_start: chunk.lineStart,
      line_end: chunk.lineEnd,
      ...recipeNote(recipe),
      last_modified: filedAt,
      chunk_total: chunks.length,
      ...optional,
      ...(entities !== "" && { entities }),
    };
    return { id, text: chunk.text, metadata };
  });
  tx.insertDrawers(drawers);
  const tagging = { recipe: palaceRecipe, known };
  const closets = buildClosets({ sourceFile, wing, room, content: strip(content), drawers, filedAt, ...tagging });
  tx.closets.replace(sourceFile, closets);
  tx.putSource({ sourceFile, wing, mtime, sha256, drawers: chunks.length });
  return { drawers: chunks.length, removed };
}

/**
 * Joined bare, part 11 of `notes` has the id of part 1 of `notes1`: upstream writes one over the other. Ours gets the recipe that
 * cannot collide then, and its row says so. Errors: PROTOCOL_BAD_PARAMS where that one is taken as well.
 */
function chunkId(tx: LedgerTx, prefix: string, parts: string[]): { id: string; recipe: IdRecipe } {
  const bare = `${prefix}_${hash24(parts.join(""))}`;
  if (tx.idRecipe() === "bare" && tx.findDrawer(bare) === undefined) return { id: bare, recipe: "bare" };
  const id = `${prefix}_${hash24(lengthJoined(...parts))}`;
  if (tx.findDrawer(id) === undefined) return { id, recipe: "v3" };
  throw asTyped(new InvalidValue(`the id ${id} is a drawer of another source; nothing was changed`));
}

/** Errors: PROTOCOL_BAD_PARAMS. */
export function removeSource(tx: LedgerTx, call: WriteCall): unknown {
  const sourceFile = checked(() => fileName(call.params));
  tx.closets.remove(sourceFile);
  return { removed: tx.deleteSource(sourceFile) };
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asTyped(error);
  }
}

/** A longer one would hold up everybody's writes while it is filed. */
function documentText(params: Record<string, unknown>): string {
  const content = text(params, "content");
  if (content.length > SOURCE_SIZE_MAX_BYTES)
    throw new InvalidValue(`content exceeds ${SOURCE_SIZE_MAX_BYTES} characters`);
  return content;
}

function fileName(params: Record<string, unknown>): string {
  const name = text(params, "sourceFile");
  if (name === "") throw new InvalidValue("sourceFile must be a non-empty string");
  return name;
}

function nameList(value: unknown): string[] {
  const isList = Array.isArray(value) && value.length <= KNOWN_NAMES_MAX;
  if (value === undefined) return [];
  if (isList && value.every((name) => typeof name === "string" && name !== "")) return value as string[];
  throw new InvalidValue(`knownNames must be a list of at most ${KNOWN_NAMES_MAX} non-empty strings`);
}

function seconds(params: Record<string, unknown>, key: string): number {
  const value = params[key];
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new InvalidValue(`${key} must be a number of seconds`);
  return value;
}

function bound(params: Record<string, unknown>, key: string): number {
  const value = params[key] ?? 0;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidValue(`${key} must be a whole number`);
  return value;
}

function optionalText(params: Record<string, unknown>, key: string, name: string): Metadata {
  return typeof params[key] === "string" ? { [name]: params[key].toWellFormed() } : {};
}

function text(params: Record<string, unknown>, key: string): string {
  const value = params[key];
  if (typeof value !== "string") throw new InvalidValue(`${key} must be a string`);
  return value.toWellFormed();
}
