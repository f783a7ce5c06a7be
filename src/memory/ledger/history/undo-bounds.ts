/** Time for which a write can be undone. The retention job deletes older before-images. */

/** Time for which before-images are kept, ms, unless they exceed their size limit. */
export const UNDO_KEPT_MS = 30 * 24 * 3_600_000;
export const UNDO_SIZE_MAX_BYTES = 256 * 1024 * 1024;
