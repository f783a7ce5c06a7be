/** How far back a write can be undone; the retention job takes away what is beyond. */

/** A write can be undone for this long, as far as its before-images fit. */
export const UNDO_KEPT_MS = 30 * 24 * 3_600_000;
export const UNDO_SIZE_MAX_BYTES = 256 * 1024 * 1024;
