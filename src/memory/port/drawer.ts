/** Drawers and their places: types that the whole broker uses. */

/** Metadata of a drawer as a palace keeps them (palace.md 4.7). The keys are upstream's, in snake_case. */
export type Metadata = Record<string, MetadataValue>;

/** A plain value of a drawer's metadata. */
export type Scalar = string | number | boolean;

/** Value of metadata. A list has elements of one type. Only foreign rows have lists: Chroma allows them since 1.5, MemPalace makes none. */
export type MetadataValue = Scalar | Scalar[];

/** Returns true for a list. Array.isArray does not narrow the type for the compiler. */
export function isList(value: MetadataValue): value is Scalar[] {
  return Array.isArray(value);
}

/** One drawer. `row` is the ledger's own number. It grows, is never reused, and orders rows as Chroma would. */
export type Drawer = { row: number; id: string; wing: string; room: string; text: string; metadata: Metadata };

/** Rows of a drawer's id: one row, or the slices of a long text in their order. */
export type LogicalDrawer = { id: string; rows: [Drawer, ...Drawer[]]; isSplit: boolean };

/** The content of a new drawer; wing, room and source_file are read from the metadata. */
export type NewDrawer = { id: string; text: string; metadata: Metadata };

/** Filter by wing, by room, or by both; without either, all drawers pass. `wings`: the drawer's wing must also be one of these. */
export type PlaceFilter = { wing?: string; room?: string; wings?: readonly string[] };

/** A place, and further conditions on a drawer's metadata. */
export type DrawerFilter = PlaceFilter & {
  sourceFile?: string;
  /**
   * Time window `[since, before)` for the time at which a drawer's text was said, or for its filing time if that is unknown. Bounds have
   * the form of `filed_at`: local time, compared as text.
   */
  since?: string;
  before?: string;
};

/** The form of a drawer's id: 3.3.6 joins the parts of an id directly, 3.11 puts each part's length before the part. */
export type IdRecipe = "bare" | "v3";
