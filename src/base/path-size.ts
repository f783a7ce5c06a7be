/** Which names can be a file's by their size. Longer ones are not looked up: Node takes seconds to tidy one of a megabyte. */

/** Source: PATH_MAX of Linux. */
export const PATH_SIZE_MAX_BYTES = 4096;

export function canBePath(name: string): boolean {
  return Buffer.byteLength(name) <= PATH_SIZE_MAX_BYTES;
}
