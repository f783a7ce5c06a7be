/**
 * Logical drawers: what an id that was given out stands for, one row or the slices of a long text. Long diary entries are cut
 * the same way and found the same way. Read side and write side of the engine use it (upstream-latest.md 2.1).
 */
import { cut } from "../../platform/cut.ts";
import type { DrawerFilter, LogicalDrawer, Metadata } from "../../port/drawer.ts";
import type { LedgerReader, LedgerTx } from "../../port/ledger.ts";
import { baseName, codePointLength, head } from "../text/text.ts";

const PREVIEW = 200;

/** A row's own id comes first: the id of one slice is that slice alone. */
export function findLogical(
  ledger: Pick<LedgerTx | LedgerReader, "findDrawer" | "slicesOf">,
  id: string,
): LogicalDrawer | undefined {
  const row = ledger.findDrawer(id);
  if (row !== undefined) return { id, rows: [row], isSplit: false };
  const [first, ...more] = ledger.slicesOf(id);
  return first === undefined ? undefined : { id, rows: [first, ...more], isSplit: true };
}

/** An id in an answer that says it is not there: whole as ids are, its beginning where somebody asked for a megabyte. */
export function shownId(id: string): string {
  return cut(id, 1_000);
}

/** The id a slice belongs to; undefined for a row that is a drawer of its own. */
export function parentOf(metadata: Metadata): string | undefined {
  const parent = metadata["parent_drawer_id"] || metadata["parent_entry_id"];
  return typeof parent === "string" ? parent : undefined;
}

export function textOf({ rows }: LogicalDrawer): string {
  return rows.map((row) => row.text).join("");
}

/** As get_drawer answers it. */
export function drawerPayload(drawer: LogicalDrawer): Record<string, unknown> & { content: string } {
  const { id, rows, isSplit } = drawer;
  const [first] = rows;
  const slices = isSplit ? { chunks: rows.length, chunk_ids: rows.map((row) => row.id) } : {};
  return {
    drawer_id: id,
    content: textOf(drawer),
    wing: first.wing,
    room: first.room,
    metadata: { ...shownMetadata(first.metadata), ...slices },
    ...slices,
  };
}

/**
 * Metadata as agents see it: without the keys that Chroma reserves, the source by its name alone, and a time of change for rows
 * that older versions filed.
 */
export function shownMetadata(metadata: Metadata): Metadata {
  const { source_dir_ino: _inode, ...others } = metadata;
  const shown: Metadata = Object.fromEntries(Object.entries(others).filter(([key]) => !key.startsWith("chroma:")));
  const source = metadata["source_file"];
  if (typeof source === "string" && source !== "") shown["source_file"] = baseName(source);
  const filedAt = metadata["filed_at"];
  if (shown["last_modified"] === undefined && filedAt !== undefined) shown["last_modified"] = filedAt;
  return shown;
}

export function preview(text: string): string {
  return codePointLength(text) > PREVIEW ? `${head(text, PREVIEW)}...` : text;
}

/** As list_drawers answers it: of the text only its beginning. */
export function listedDrawer(drawer: LogicalDrawer): Record<string, unknown> {
  const { content, ...others } = drawerPayload(drawer);
  return { ...others, content_preview: preview(content) };
}

/** Rows as they were filed in a palace of 3.3.6, whole drawers by id in one of 3.11: each as its own MemPalace lists them. */
export function listDrawers(
  ledger: Pick<LedgerReader, "idRecipe" | "listDrawers" | "listLogical">,
  filter: DrawerFilter,
  limit: number,
  offset: number,
): { drawers: LogicalDrawer[]; total: number } {
  if (ledger.idRecipe() === "v3") return ledger.listLogical(filter, limit, offset);
  const { drawers, total } = ledger.listDrawers(filter, limit, offset);
  return { drawers: drawers.map((drawer) => ({ id: drawer.id, rows: [drawer], isSplit: false })), total };
}
