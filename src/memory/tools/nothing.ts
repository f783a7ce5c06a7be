/**
 * Placeholder for a palace. A tool that runs with this placeholder either answers without reading the palace, for example that an argument
 * is invalid, or throws `Looked`. Used by offline.ts and reads.ts.
 */

/** Thrown when code reads the placeholder. */
export class Looked extends Error {}

/** Object that throws `Looked` at any access. */
export const NOTHING: object = new Proxy(() => {}, {
  get: () => NOTHING,
  apply: () => {
    throw new Looked();
  },
});
