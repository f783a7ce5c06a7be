/** Placeholder for a palace. A tool that runs with it either answers without reading the palace or throws `Looked`. */

/** Thrown when code reads the placeholder. */
export class Looked extends Error {}

/** Object that throws `Looked` when any of its methods, at any depth, is called. */
export const NOTHING: object = new Proxy(() => {}, {
  get: () => NOTHING,
  apply: () => {
    throw new Looked();
  },
});
