/** Finds drawers for people: by a part of the id, or the newest drawers of a wing or room. */
import type { LogicalDrawer, PlaceFilter } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { clampLimit } from "../text/validate.ts";
import { drawerPayload, findLogical, listedDrawer, parentOf, sourceOf } from "./logical.ts";

const MATCHES_MAX = 10;
const LIMIT_DEFAULT = 20;

/** Finds a drawer by its whole id, or by a beginning of its id or hash, if only one drawer has that beginning. */
export function shownDrawer(
  reader: Pick<LedgerReader, "findDrawer" | "slicesOf" | "idsByPart" | "deletedIdsByPart">,
  id: string,
): { found: true; drawer: Record<string, unknown> } | { found: false; matches: string[]; deleted: string[] } {
  const whole = findLogical(reader, id);
  const matches = whole !== undefined || id === "" ? [] : reader.idsByPart(id, MATCHES_MAX);
  const [only, ...others] = matches;
  const drawer = only === undefined || others.length > 0 ? whole : findLogical(reader, only);
  if (drawer !== undefined) return { found: true, drawer: withPath(drawer, drawerPayload(drawer)) };
  const deleted = matches.length > 0 || id === "" ? [] : reader.deletedIdsByPart(id, MATCHES_MAX);
  return { found: false, matches, deleted };
}

/** Lists the drawers of a wing or room, the newest first, each with the beginning of its text. */
export function newestDrawers(
  reader: Pick<LedgerReader, "listNewest">,
  place: PlaceFilter,
  { limit: most, offset: asked }: Record<string, unknown>,
): { drawers: Record<string, unknown>[]; total: number; offset: number; limit: number } {
  const limit = clampLimit(most, LIMIT_DEFAULT);
  const offset = typeof asked === "number" && Number.isSafeInteger(asked) && asked > 0 ? asked : 0;
  const { drawers, total } = reader.listNewest(place, limit, offset);
  const shown = drawers.map((row) => {
    const drawer: LogicalDrawer = { id: parentOf(row.metadata) ?? row.id, rows: [row], isSplit: false };
    return withPath(drawer, listedDrawer(drawer));
  });
  return { drawers: shown, total, offset, limit };
}

/** Adds the source's whole path, because the shown metadata have only the file name. */
function withPath({ rows: [first] }: LogicalDrawer, payload: Record<string, unknown>): Record<string, unknown> {
  return { ...payload, source_path: sourceOf(first) };
}
