/** Unpacks a backup and checks every byte. File names come from a fixed list, so no archive can choose a path. */
import { createHash, type Hash } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type PalaceError, wrongUsage } from "../../base/errors.ts";
import {
  type BackedUpFile,
  damaged,
  type Manifest,
  MANIFEST,
  MANIFEST_MAX_BYTES,
  parseManifest,
  SEAL,
} from "./manifest.ts";
import { BLOCK_BYTES, END_BYTES, entryBytes, padding, sizeIn, tarHeader } from "./tar.ts";

const CUT_SHORT = "it is cut short";
/** First bytes of compressed files in hexadecimal, with the program that decompresses them. */
const COMPRESSED = { "1f8b": "gzip", "28b52ffd": "zstd", fd377a585a: "xz", "425a68": "bzip2" };

export type UnpackOptions = {
  /** Must exist and be empty. */
  folder: string;
  /** Maximum number of bytes to unpack: the size of the archive's own file. */
  bytesMax: number;
  /** Called after each write. If it throws, the unpacking ends. */
  onBytes?: (done: number, total: number) => Promise<void> | void;
};

/** After an error, the files that were already unpacked stay. Errors: as unpackVerified. */
export async function unpackArchive(pieces: AsyncIterable<Uint8Array>, options: UnpackOptions): Promise<Manifest> {
  const { folder, bytesMax, onBytes = () => {} } = options;
  const reader = new Reader(pieces);
  const first = await reader.take(BLOCK_BYTES);
  const size = sizeIn(first);
  if (!(size <= MANIFEST_MAX_BYTES) || !first.equals(tarHeader(MANIFEST, size))) throw notOurs(first);
  const bytes = Buffer.from(await reader.take(size));
  await reader.expect(Buffer.alloc(padding(size)));
  const manifest = parseManifest(bytes);
  const total = manifest.files.reduce((sum, file) => sum + file.size, 0);
  const whole = manifest.files.reduce((sum, file) => sum + entryBytes(file.size), entryBytes(size));
  if (whole > bytesMax) throw damaged(`${CUT_SHORT}, or its manifest states a larger size`);
  let done = 0;
  for (const file of manifest.files) {
    await reader.expect(tarHeader(file.name, file.size));
    await writeFile(reader, folder, file, (count) => onBytes((done += count), total));
  }
  const seal = Buffer.from(`${reader.digest()}\n`);
  await reader.expect(tarHeader(SEAL, seal.length));
  await reader.expect(seal);
  await reader.expect(Buffer.alloc(padding(seal.length) + END_BYTES));
  await reader.expectEnd();
  return manifest;
}

function notOurs(first: Buffer): PalaceError {
  const [, program] = Object.entries(COMPRESSED).find(([magic]) => first.toString("hex").startsWith(magic)) ?? [];
  if (program === undefined) return damaged("it is not a palace backup");
  const hint = `decompress it first: ${program} -dc FILE > backup.tar`;
  return wrongUsage(`the backup is compressed with ${program}`, hint);
}

async function writeFile(
  reader: Reader,
  folder: string,
  { name, size, sha256 }: BackedUpFile,
  onBytes: (count: number) => Promise<void> | void,
): Promise<void> {
  const sum = createHash("sha256");
  const handle = await open(join(folder, name), "wx", 0o600);
  try {
    for (let left = size; left > 0;) {
      const piece = await reader.some(left);
      sum.update(piece);
      await handle.writeFile(piece);
      left -= piece.length;
      await onBytes(piece.length);
    }
  } finally {
    await handle.close();
  }
  if (sum.digest("hex") !== sha256) throw damaged(`${name} differs from its manifest`);
  await reader.expect(Buffer.alloc(padding(size)));
}

class Reader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #sum: Hash = createHash("sha256");
  #left: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** Returns the digest of all bytes that were read from the archive so far. */
  digest(): string {
    return this.#sum.copy().digest("hex");
  }

  /** Reads at least 1 and at most `most` bytes. Errors: STORE_CORRUPT at the end of the file. */
  async some(most: number): Promise<Buffer> {
    while (this.#left.length === 0) {
      const next = await this.#pieces.next();
      if (next.done === true) throw damaged(CUT_SHORT);
      this.#left = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    }
    const piece = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(piece.length);
    this.#sum.update(piece);
    return piece;
  }

  async take(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let left = count; left > 0;) {
      const piece = await this.some(left);
      pieces.push(piece);
      left -= piece.length;
    }
    return Buffer.concat(pieces);
  }

  async expect(bytes: Buffer): Promise<void> {
    if (!(await this.take(bytes.length)).equals(bytes)) throw damaged("bytes between its files were changed");
  }

  async expectEnd(): Promise<void> {
    for (let next = await this.#pieces.next(); ; next = await this.#pieces.next()) {
      if (this.#left.length > 0 || (next.done !== true && next.value.length > 0))
        throw damaged("there are bytes after its end");
      if (next.done === true) return;
    }
  }
}
