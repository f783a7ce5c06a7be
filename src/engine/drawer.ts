/**
 * Drawers: ids, splitting, filing, changing, deleting. Writes run inside the ledger's transaction on the writer thread.
 * Source: palace.md 2.10 and 4.7, upstream-latest.md 2.3.
 */
import type { LedgerTx, Metadata, WriteCall } from "../store/port.ts";
import { codePointLength, localTimestamp, sha256Hex, slices, strip } from "./text.ts";
import { asText, InvalidValue, looseText, validContent, validName } from "./validate.ts";

export const CHUNK_SIZE = 800;

/** Id recipe of new palaces: upstream's v3, each part with its length in front (3.3.6 joined them bare). */
export const ID_RECIPE = "v3";

/** `L(a, b, …)` of the specification. */
export function lengthJoined(...parts: string[]): string {
  return parts.map((part) => `${codePointLength(part)}:${part}`).join("");
}

/** First 24 hex digits of SHA-256. */
export function hash24(text: string): string {
  return sha256Hex(text).slice(0, 24);
}

/** Both recipes' ids of one text, ours first: the same text filed by a 3.3.6 is found, and not filed twice. */
function drawerIds(wing: string, room: string, content: string): [ours: string, older: string] {
  const id = (hashed: string): string => `drawer_${wing}_${room}_${hash24(hashed)}`;
  return [id(lengthJoined(wing, room, content)), id(wing + room + content)];
}

export function sliceId(id: string, index: number): string {
  return `${id}_chunk_${String(index).padStart(6, "0")}`;
}

export function addDrawer(tx: LedgerTx, call: WriteCall): unknown {
  return refused(() => {
    const { params } = call;
    const wing = validName(params["wing"], "wing");
    const room = validName(params["room"], "room");
    const content = validContent(params["content"]);
    const parts = slices(content, CHUNK_SIZE);
    const ids = drawerIds(wing, room, content);
    for (const id of ids) {
      const isThere =
        tx.findDrawer(id) ?? (parts.length > 1 ? tx.findDrawer(sliceId(id, parts.length - 1)) : undefined);
      if (isThere !== undefined) return { success: true, reason: "already_exists", drawer_id: id };
    }
    const [id] = ids;
    // Slices of a drawer that was deleted in part would be in the way.
    if (parts.length > 1) parts.forEach((_, index) => tx.deleteDrawer(sliceId(id, index)));
    const filedAt = localTimestamp(call.atMs * 1000);
    const metadata: Metadata = {
      wing,
      room,
      source_file: looseText(params["source_file"], ""),
      chunk_index: 0,
      added_by: looseText(params["added_by"], "mcp"),
      filed_at: filedAt,
      last_modified: filedAt,
      id_recipe: ID_RECIPE,
    };
    const chunkIds = insertSlices(tx, id, parts, metadata, "parent_drawer_id");
    return { success: true, drawer_id: id, wing, room, chunks: parts.length, ...(chunkIds && { chunk_ids: chunkIds }) };
  });
}

/** One row under the id itself, or one a slice under `<id>_chunk_<n>`; returns the slices' ids in that case. */
export function insertSlices(
  tx: LedgerTx,
  id: string,
  parts: readonly string[],
  metadata: Metadata,
  parentKey: string,
): string[] | undefined {
  const [only, ...more] = parts;
  if (only !== undefined && more.length === 0) {
    tx.insertDrawers([{ id, text: only, metadata }]);
    return undefined;
  }
  const drawers = parts.map((text, index) => ({
    id: sliceId(id, index),
    text,
    metadata: { ...metadata, chunk_index: index, [parentKey]: id },
  }));
  tx.insertDrawers(drawers);
  return drawers.map((drawer) => drawer.id);
}

export function deleteDrawer(tx: LedgerTx, call: WriteCall): unknown {
  const id = asText(call.params["drawer_id"]);
  if (!tx.deleteDrawer(id)) return { success: false, error: `Drawer not found: ${id}` };
  return { success: true, drawer_id: id };
}

export function updateDrawer(tx: LedgerTx, call: WriteCall): unknown {
  return refused(() => {
    const { params } = call;
    const id = asText(params["drawer_id"]);
    const given = (key: string): boolean => params[key] !== undefined && params[key] !== null;
    if (!["content", "wing", "room"].some(given)) return { success: true, drawer_id: id, noop: true };
    const before = tx.findDrawer(id);
    if (before === undefined) return { success: false, error: `Drawer not found: ${id}` };
    const content = given("content") ? validContent(params["content"]) : undefined;
    const wing = given("wing") ? validName(params["wing"], "wing") : before.wing;
    const room = given("room") ? validName(params["room"], "room") : before.room;
    const metadata = { ...before.metadata, wing, room, last_modified: localTimestamp(call.atMs * 1000) };
    tx.updateDrawer(id, { metadata, ...(content !== undefined && { text: content }) });
    return { success: true, drawer_id: id, wing, room };
  });
}

/** Writers answer a refused value as a result, not as a protocol error. */
function refused(write: () => unknown): unknown {
  try {
    return write();
  } catch (error) {
    if (error instanceof InvalidValue) return { success: false, error: error.message };
    throw error;
  }
}

/** Wing slug: lower case, spaces and hyphens as underscores. */
export function slug(text: string): string {
  return strip(text).toLowerCase().replaceAll(/[ -]/g, "_");
}
