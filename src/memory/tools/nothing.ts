/**
 * Stands in the place of a palace, so that a tool's own code tells which arguments it answers without one. Used by
 * offline.ts and reads.ts.
 */

/** Thrown by code that wants to look into the palace. */
export class Looked extends Error {}

/** Any access to it, however deep, means that the tool wants to look. */
export const NOTHING: object = new Proxy(() => {}, {
  get: () => NOTHING,
  apply: () => {
    throw new Looked();
  },
});
