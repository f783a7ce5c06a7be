/** Types of drawers, their metadata, and filters for drawers. */

/** Metadata of a drawer, with upstream's keys in snake_case (palace.md 4.7). */
export type Metadata = Record<string, MetadataValue>;

/** A plain value of a drawer's metadata. */
export type Scalar = string | number | boolean;

/** A value of metadata. Only foreign rows have lists, with elements of one type: Chroma allows lists since 1.5, MemPalace writes none. */
export type MetadataValue = Scalar | Scalar[];

/** Returns true for a list. `Array.isArray` alone does not narrow the type. */
export function isList(value: MetadataValue): value is Scalar[] {
  return Array.isArray(value);
}

/** One drawer. `row`: the ledger's own number, which rises and is never reused. Row order is the order in which Chroma returns drawers. */
export type Drawer = { row: number; id: string; wing: string; room: string; text: string; metadata: Metadata };

/** A whole drawer: its one row, or the slices of a long text in their order. */
export type LogicalDrawer = { id: string; rows: [Drawer, ...Drawer[]]; isSplit: boolean };

/** A drawer to be added. Its wing, room and source are in the metadata. */
export type NewDrawer = { id: string; text: string; metadata: Metadata };

/** Filter by wing, by room, or by both; without either, all drawers pass. `wings`: the drawer's wing must also be one of these. */
export type PlaceFilter = { wing?: string; room?: string; wings?: readonly string[] };

/** Filter by wing, room, source and time. */
export type DrawerFilter = PlaceFilter & {
  sourceFile?: string;
  /** Window `[since, before)` for the time at which the text was said or, if unknown, filed. Local time in the form of `filed_at`. */
  since?: string;
  before?: string;
};

/** The recipe of a drawer's id: `bare` (3.3.6) joins the parts of an id, `v3` (3.11) puts each part's length before the part. */
export type IdRecipe = "bare" | "v3";
