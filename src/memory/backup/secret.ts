/** Encrypts an archive with a passphrase in the format of the command `age`. */
import { ReadableStream } from "node:stream/web";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { damaged } from "./manifest.ts";

export const AGE_MAGIC = Buffer.from("age-encryption.org/v1\n");

type Pieces = AsyncIterable<Uint8Array>;

/** The default of `age`. Making or reading a backup, and each guess of an attacker, takes about 1 s and 256 MiB. */
const WORK_FACTOR = 18;

export async function encrypted(pieces: Pieces, passphrase: string, workFactor = WORK_FACTOR): Promise<Pieces> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  encrypter.setScryptWorkFactor(workFactor);
  return await encrypter.encrypt(streamOf(pieces));
}

/**
 * Calls `passphrase` only for an encrypted archive. Errors: STORE_CORRUPT for a wrong passphrase or a damaged file, which often look the
 * same; CONFIG_USAGE without a passphrase.
 */
export async function decrypted(
  pieces: Pieces,
  passphrase: () => Promise<string | undefined>,
): Promise<{ pieces: Pieces; isEncrypted: boolean }> {
  const { head, all } = await peek(pieces, AGE_MAGIC.length);
  if (!head.equals(AGE_MAGIC)) return { pieces: all, isEncrypted: false };
  const secret = await passphrase();
  if (secret === undefined)
    throw wrongUsage("the backup is encrypted and there is no passphrase", "add --passphrase-file FILE");
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  decrypter.addPassphrase(secret);
  try {
    const opened = (await decrypter.decrypt(streamOf(all))) as unknown as Pieces;
    return { pieces: translated(opened), isEncrypted: true };
  } catch (cause) {
    const message = "the backup cannot be opened: the passphrase is wrong, or its first bytes are damaged";
    throw new PalaceError("STORE_CORRUPT", message, "give its passphrase: --passphrase-file FILE", { cause });
  }
}

async function* translated(pieces: Pieces): Pieces {
  try {
    yield* pieces;
  } catch (cause) {
    throw cause instanceof PalaceError ? cause : damaged("its encrypted bytes are damaged or cut short", cause);
  }
}

function streamOf(pieces: Pieces): globalThis.ReadableStream<Uint8Array> {
  // The age package accepts only plain arrays, not Node's Buffers.
  return ReadableStream.from(plain(pieces));
}

async function* plain(pieces: Pieces): Pieces {
  for await (const piece of pieces) yield new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
}

async function peek(pieces: Pieces, length: number): Promise<{ head: Buffer; all: Pieces }> {
  const iterator = pieces[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < length) {
    const next = await iterator.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* all(): Pieces {
    try {
      yield head;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { head: head.subarray(0, length), all: all() };
}
