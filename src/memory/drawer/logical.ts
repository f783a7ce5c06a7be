/** Finds, shows and lists logical drawers: one row, or all slices of a long text, under one id (upstream-latest.md 2.1). */
import { cut } from "../../base/shorten.ts";
import type { Drawer, DrawerFilter, LogicalDrawer, Metadata } from "../port/drawer.ts";
import type { LedgerReader, LedgerTx } from "../port/ledger.ts";
import { baseName, codePointLength, head } from "../text/text.ts";

const PREVIEW = 200;

/** Finds a drawer by its id. The id of a slice finds only that slice. */
export function findLogical(
  ledger: Pick<LedgerTx | LedgerReader, "findDrawer" | "slicesOf">,
  id: string,
): LogicalDrawer | undefined {
  const row = ledger.findDrawer(id);
  if (row !== undefined) return { id, rows: [row], isSplit: false };
  const [first, ...more] = ledger.slicesOf(id);
  return first === undefined ? undefined : { id, rows: [first, ...more], isSplit: true };
}

export function shownId(id: string): string {
  return cut(id, 1_000);
}

/** Returns the id of the drawer to which a slice belongs; undefined for a row that is not a slice. */
export function parentOf(metadata: Metadata): string | undefined {
  const parent = metadata["parent_drawer_id"] || metadata["parent_entry_id"];
  return typeof parent === "string" ? parent : undefined;
}

/** Returns the name of a drawer's source, or "". */
export function sourceOf({ metadata }: Pick<Drawer, "metadata">): string {
  const source = metadata["source_file"];
  return typeof source === "string" ? source : "";
}

export function textOf({ rows }: LogicalDrawer): string {
  return rows.map((row) => row.text).join("");
}

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

/** Returns metadata as agents see them: no internal keys, the source's file name, and the filing time if a time of change is missing. */
export function shownMetadata(metadata: Metadata): Metadata {
  const { source_dir_ino: _inode, ...others } = metadata;
  const shown: Metadata = Object.fromEntries(Object.entries(others).filter(([key]) => !key.startsWith("chroma:")));
  const source = sourceOf({ metadata });
  if (source !== "") shown["source_file"] = baseName(source);
  const filedAt = metadata["filed_at"];
  if (shown["last_modified"] === undefined && filedAt !== undefined) shown["last_modified"] = filedAt;
  return shown;
}

export function preview(text: string): string {
  return codePointLength(text) > PREVIEW ? `${head(text, PREVIEW)}...` : text;
}

export function listedDrawer(drawer: LogicalDrawer): Record<string, unknown> {
  const { content, ...others } = drawerPayload(drawer);
  return { ...others, content_preview: preview(content) };
}

/**
 * Lists drawers as the palace's own MemPalace does: version 3.3.6 lists single rows, version 3.11 whole drawers by id. A palace in which a
 * MemPalace before 3.11 has filed diary entries in slices is listed as by 3.11, too.
 */
export function listDrawers(
  ledger: Pick<LedgerReader, "idRecipe" | "holdsOldSlices" | "listDrawers" | "listLogical">,
  filter: DrawerFilter,
  limit: number,
  offset: number,
): { drawers: LogicalDrawer[]; total: number } {
  if (ledger.idRecipe() === "v3" || ledger.holdsOldSlices()) return ledger.listLogical(filter, limit, offset);
  const { drawers, total } = ledger.listDrawers(filter, limit, offset);
  return { drawers: drawers.map((drawer) => ({ id: drawer.id, rows: [drawer], isSplit: false })), total };
}
