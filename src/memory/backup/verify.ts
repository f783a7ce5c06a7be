/** Reads a whole backup and opens its databases. Writes only to the given folder. */
import { createReadStream, mkdirSync, rmSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { lookInto } from "./look.ts";
import { damaged, type Manifest } from "./manifest.ts";
import { decrypted } from "./secret.ts";
import { unpackArchive } from "./unpack.ts";

/** Name of a backup that is read from stdin. */
export const STDIN = "-";

export type VerifyOptions = {
  /** Folder that the call creates. It has the backup's files when the call resolves, and is removed when the call rejects. */
  folder: string;
  passphrase: () => Promise<string | undefined>;
  onBytes?: (done: number, total: number) => void;
  signal?: AbortSignal;
};

export type Verified = { manifest: Manifest; bytes: number; isEncrypted: boolean };

/** Errors: STORE_CORRUPT, CONFIG_USAGE, PROTOCOL_VERSION_MISMATCH, BROKER_CANCELLED, the file system's errors. */
export async function unpackVerified(file: string, options: VerifyOptions): Promise<Verified> {
  const { folder, passphrase, onBytes, signal } = options;
  const { input, bytesMax } = openBackup(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    let bytes = 0;
    const { pieces, isEncrypted } = await decrypted(
      counted(input as AsyncIterable<Uint8Array>, (count) => (bytes += count)),
      passphrase,
    );
    const manifest = await unpackArchive(pieces, {
      folder,
      bytesMax,
      onBytes: (done, total) => {
        if (signal?.aborted === true)
          throw new PalaceError("BROKER_CANCELLED", "it was cancelled; nothing was changed", "");
        onBytes?.(done, total);
      },
    });
    const { counts, ledgerSchema, journalSeq } = lookInto(folder);
    for (const [name, count] of Object.entries(counts))
      if (manifest.counts[name as keyof typeof counts] !== count)
        throw damaged(
          `it holds ${count} ${name}, and its manifest says ${manifest.counts[name as keyof typeof counts]}`,
        );
    if (manifest.ledgerSchema !== ledgerSchema || manifest.journalSeq !== journalSeq)
      throw damaged("its ledger has another state than its manifest says");
    return { manifest, bytes, isEncrypted };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    input.destroy();
  }
}

/** The size of stdin is unknown, so it has no limit. Errors: CONFIG_USAGE. */
function openBackup(file: string): { input: Readable; bytesMax: number } {
  if (file === STDIN) return { input: process.stdin, bytesMax: Number.MAX_SAFE_INTEGER };
  const there = statSync(file, { throwIfNoEntry: false });
  if (there?.isFile() !== true) throw wrongUsage(`${file} is not a file`, "give the path of a backup");
  return { input: createReadStream(file, { highWaterMark: 1024 * 1024 }), bytesMax: there.size };
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  onCount: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    onCount(piece.length);
    yield piece;
  }
}
