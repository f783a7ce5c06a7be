/** Files, splits, changes and deletes drawers, inside the ledger's transaction (palace.md 2.10 and 4.7, upstream-latest.md 2.3). */
import type { Drawer, LogicalDrawer, Metadata, NewDrawer } from "../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { MASK_START, redact } from "../text/redact.ts";
import { localTimestamp, slices, strip } from "../text/text.ts";
import { asText, checked, looseText, validContent, validName } from "../text/validate.ts";
import { drawerIds, readNew, recipeNote, sliceId } from "./drawer-id.ts";
import { findLogical, shownId, sourceOf, textOf } from "./logical.ts";

/** Maximum length of a slice, in characters. */
export type RowSize = { drawerSize: number };

export function addDrawer(tx: LedgerTx, call: WriteCall, { drawerSize }: RowSize): unknown {
  return checked(() => {
    const { params } = call;
    const { wing, room, content } = readNew(params);
    const parts = slices(content, drawerSize);
    const recipe = tx.idRecipe();
    const ids = drawerIds(recipe, wing, room, content);
    for (const id of ids) {
      const isThere =
        tx.findDrawer(id) ?? (parts.length > 1 ? tx.findDrawer(sliceId(id, parts.length - 1)) : undefined);
      if (isThere !== undefined) return { success: true, reason: "already_exists", drawer_id: id };
    }
    const [id] = ids;
    // Slices with these ids may be left from an earlier drawer of the same id, if somebody deleted only a part of that drawer.
    if (parts.length > 1) tx.deleteDrawers(parts.map((_, index) => sliceId(id, index)));
    const filedAt = localTimestamp(call.atMs * 1000);
    const metadata: Metadata = {
      wing,
      room,
      source_file: looseText(params["source_file"], ""),
      chunk_index: 0,
      added_by: looseText(params["added_by"], "mcp"),
      filed_at: filedAt,
      last_modified: filedAt,
      ...recipeNote(recipe),
    };
    const chunkIds = insertSlices(tx, id, parts, metadata, ["parent_drawer_id"]);
    return { success: true, drawer_id: id, wing, room, chunks: parts.length, ...(chunkIds && { chunk_ids: chunkIds }) };
  });
}

/** Inserts one part under `id`, or several under `<id>_chunk_<n>`. Returns the slices' ids; undefined for one part. */
export function insertSlices(
  tx: LedgerTx,
  id: string,
  parts: readonly string[],
  metadata: Metadata,
  parentKeys: readonly string[],
): string[] | undefined {
  const [only, ...more] = parts;
  if (only !== undefined && more.length === 0) {
    tx.insertDrawers([{ id, text: only, metadata }]);
    return undefined;
  }
  const parents = Object.fromEntries(parentKeys.map((key) => [key, id]));
  const drawers = parts.map((text, index) => ({
    id: sliceId(id, index),
    text,
    metadata: { ...metadata, chunk_index: index, ...parents },
  }));
  tx.insertDrawers(drawers);
  return drawers.map((drawer) => drawer.id);
}

export function deleteDrawer(tx: LedgerTx, call: WriteCall): unknown {
  const id = asText(call.params["drawer_id"]);
  const drawer = findLogical(tx, id);
  if (drawer === undefined) return { success: false, error: `Drawer not found: ${shownId(id)}` };
  return { success: true, ...deleteLogical(tx, drawer) };
}

/** Deletes all rows of a drawer, and the closets of its source. */
export function deleteLogical(
  tx: LedgerTx,
  { id, rows }: LogicalDrawer,
): { drawer_id: string; deleted_ids: string[]; chunks_deleted: number; closets_deleted: number } {
  const ids = rows.map((row) => row.id);
  const closets = removeClosets(tx, rows[0]);
  tx.deleteDrawers(ids);
  return { drawer_id: id, deleted_ids: ids, chunks_deleted: ids.length, closets_deleted: closets };
}

/** Deletes the closets of the drawer's source, because they quote the drawer's old text. Returns their number. */
function removeClosets(tx: LedgerTx, drawer: Drawer): number {
  const sourceFile = sourceOf(drawer);
  return sourceFile === "" ? 0 : tx.closets.remove(sourceFile);
}

/** Changes a drawer. A split drawer, or a text that is too long for one row, is cut into slices again under the same id. */
export function updateDrawer(tx: LedgerTx, call: WriteCall, { drawerSize }: RowSize): unknown {
  return checked(() => {
    const { params } = call;
    const id = asText(params["drawer_id"]);
    const given = (key: string): boolean => params[key] !== undefined && params[key] !== null;
    if (!["content", "wing", "room"].some(given)) return { success: true, drawer_id: id, noop: true };
    const before = findLogical(tx, id);
    if (before === undefined) return { success: false, error: `Drawer not found: ${shownId(id)}` };
    const [first] = before.rows;
    const content = given("content") ? validContent(params["content"]) : undefined;
    if (content !== undefined && losesSecret(textOf(before), content))
      return { success: false, error: MASK_WRITTEN_BACK };
    const metadata = { ...first.metadata };
    for (const key of ["wing", "room"] as const) {
      const name = given(key) ? validName(params[key], key) : undefined;
      // A foreign row may have a number as its wing. A given name that equals the number does not replace it.
      if (name !== undefined && name !== String(metadata[key] ?? "")) metadata[key] = name;
    }
    metadata["last_modified"] = localTimestamp(call.atMs * 1000);
    const done = { success: true, drawer_id: id, wing: metadata["wing"] ?? "", room: metadata["room"] ?? "" };
    const parts = slices(content ?? textOf(before), drawerSize);
    const closets = content === undefined ? 0 : removeClosets(tx, first);
    if (before.isSplit || parts.length > 1)
      return {
        ...done,
        chunks: parts.length,
        chunk_ids: recut(tx, before, parts, metadata),
        closets_deleted: closets,
      };
    tx.updateDrawer(id, { metadata, ...(content !== undefined && { text: content }) });
    return { ...done, closets_deleted: closets };
  });
}

const MASK_WRITTEN_BACK =
  "content has a mask, [redacted: ...], in place of a secret of this drawer, and would overwrite the secret; " +
  "file the change as a drawer of its own, or have a person edit it (palace edit DRAWER_ID)";

/** Returns true if the change would write a mask over a secret. An agent that was given the masked text may send it back. */
function losesSecret(before: string, after: string): boolean {
  return after.includes(MASK_START) && redact(before, "strict").kinds.some((kind) => after.includes(MASK_START + kind));
}

/** Cuts a drawer's new text into slices. A slice that still exists keeps its row, and its vector if its text is the same. */
function recut(tx: LedgerTx, { id, rows }: LogicalDrawer, parts: readonly string[], metadata: Metadata): string[] {
  const ids = parts.map((_, index) => sliceId(id, index));
  tx.deleteDrawers(rows.map((row) => row.id).filter((one) => !ids.includes(one)));
  const added: NewDrawer[] = [];
  for (const [index, text] of parts.entries()) {
    const slice = { id: ids[index] ?? "", text, metadata: { ...metadata, chunk_index: index, parent_drawer_id: id } };
    if (tx.findDrawer(slice.id) === undefined) added.push(slice);
    else tx.updateDrawer(slice.id, slice);
  }
  tx.insertDrawers(added);
  return ids;
}

/** Makes a wing's slug: lower case, with underscores for spaces and hyphens. */
export function slug(text: string): string {
  return strip(text).toLowerCase().replaceAll(/[ -]/g, "_");
}
