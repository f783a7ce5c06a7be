/** Linux's PATH_MAX. Code checks this limit first, because Node takes seconds to normalise a path of a megabyte. */
export const PATH_SIZE_MAX_BYTES = 4096;

export function canBePath(name: string): boolean {
  return Buffer.byteLength(name) <= PATH_SIZE_MAX_BYTES;
}
