/** The container of a backup: a POSIX ustar archive in which each header has only one valid encoding, so every changed bit is noticed. */

export const BLOCK_BYTES = 512;
/** An archive ends with two blocks of zeros. */
export const END_BYTES = 2 * BLOCK_BYTES;

const OCTAL_SIZE_MAX = 0o77777777777;

/** Returns the header of a regular file. Sizes of 8 GiB and more are in base 256, as GNU tar and bsdtar write them. */
export function tarHeader(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0, 100, "latin1");
  block.write("0000600\0" + "0000000\0" + "0000000\0", 100, "latin1");
  if (size <= OCTAL_SIZE_MAX) block.write(`${size.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write("00000000000\0", 136, "latin1");
  block.write("        0", 148, "latin1");
  block.write("ustar\0" + "00", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** Returns the file's size in a header; NaN if the field is not a number. */
export function sizeIn(header: Buffer): number {
  if (header[124] === 0x80) return Number(header.readBigUInt64BE(128));
  return Number.parseInt(header.toString("latin1", 124, 135), 8);
}

/** Returns the number of zero bytes between a file of this size and the next block. */
export function padding(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** Returns the number of bytes that a file of this size takes in the archive. */
export function entryBytes(size: number): number {
  return BLOCK_BYTES + size + padding(size);
}
