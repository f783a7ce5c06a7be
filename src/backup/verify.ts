/** Reads a backup from its first byte to its last and opens its databases. Writes only to the folder it is given. */
import { createReadStream, mkdirSync, rmSync, statSync } from "node:fs";
import { PalaceError } from "../protocol/errors.ts";
import { lookInto } from "./look.ts";
import { damaged, type Manifest } from "./manifest.ts";
import { decrypted } from "./secret.ts";
import { unpackArchive } from "./unpack.ts";

export type VerifyOptions = {
  /** Created by the call; it holds the files when the call resolves, and is removed when the call rejects. */
  folder: string;
  passphrase: () => Promise<string | undefined>;
  onBytes?: (done: number, total: number) => void;
  signal?: AbortSignal;
};

export type Verified = { manifest: Manifest; bytes: number; isEncrypted: boolean };

/** Errors: STORE_CORRUPT, CONFIG_USAGE, PROTOCOL_VERSION_MISMATCH, BROKER_CANCELLED, the file system's. */
export async function unpackVerified(file: string, options: VerifyOptions): Promise<Verified> {
  const { folder, passphrase, onBytes, signal } = options;
  const there = statSync(file, { throwIfNoEntry: false });
  if (there?.isFile() !== true)
    throw new PalaceError("CONFIG_USAGE", `${file} is no file`, "name a backup: palace backup verify FILE");
  const input = createReadStream(file, { highWaterMark: 1024 * 1024 });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    const { pieces, isEncrypted } = await decrypted(input as AsyncIterable<Uint8Array>, passphrase);
    const manifest = await unpackArchive(pieces, {
      folder,
      bytesMax: there.size,
      onBytes: (done, total) => {
        if (signal?.aborted === true)
          throw new PalaceError("BROKER_CANCELLED", "it was cancelled; nothing was changed", "");
        onBytes?.(done, total);
      },
    });
    const { counts, ledgerSchema, journalSeq } = lookInto(folder);
    const said = { counts: manifest.counts, ledgerSchema: manifest.ledgerSchema, journalSeq: manifest.journalSeq };
    for (const [name, count] of Object.entries(counts))
      if (manifest.counts[name as keyof typeof counts] !== count)
        throw damaged(
          `it holds ${count} ${name}, and its manifest says ${manifest.counts[name as keyof typeof counts]}`,
        );
    if (said.ledgerSchema !== ledgerSchema || said.journalSeq !== journalSeq)
      throw damaged("its ledger is of another moment than its manifest says");
    return { manifest, bytes: there.size, isEncrypted };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    input.destroy();
  }
}
