/** Linux's PATH_MAX. Callers check this limit before they use a path, because Node takes seconds to normalise a megabyte. */
export const PATH_SIZE_MAX_BYTES = 4096;

export function canBePath(name: string): boolean {
  return Buffer.byteLength(name) <= PATH_SIZE_MAX_BYTES;
}
