/** Writes a backup: the archive's bytes from a folder of snapshots, and a file of these bytes that appears as a whole or not at all. */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeFailure } from "../../base/state-files.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { syncData, syncFile, syncPath } from "../../base/folders.ts";
import { formatManifest, MANIFEST, type ManifestBody, SEAL } from "./manifest.ts";
import { END_BYTES, padding, tarHeader } from "./tar.ts";

const CHUNK_BYTES = 1024 * 1024;
/** Bytes after which the file is synced. A single sync at the end of a large file would delay other writes. */
const SYNCED_EACH_BYTES = 2 * 1024 * 1024;

/** Yields the archive's bytes. Calls `onBytes` for each piece of a file; if `onBytes` throws, the archive ends. */
export async function* packArchive(
  folder: string,
  body: ManifestBody,
  onBytes: (count: number) => Promise<void> = async () => {},
): AsyncGenerator<Uint8Array> {
  const sum = createHash("sha256");
  const counted = <T extends Uint8Array>(bytes: T): T => {
    sum.update(bytes);
    return bytes;
  };
  const manifest = formatManifest(body);
  yield counted(
    Buffer.concat([tarHeader(MANIFEST, manifest.length), manifest, Buffer.alloc(padding(manifest.length))]),
  );
  for (const { name, size } of body.files) {
    yield counted(tarHeader(name, size));
    for await (const piece of createReadStream(join(folder, name), { highWaterMark: CHUNK_BYTES })) {
      yield counted(piece as Buffer);
      await onBytes((piece as Buffer).length);
      faultPoint("backup.in-archive");
    }
    yield counted(Buffer.alloc(padding(size)));
  }
  const seal = Buffer.from(`${sum.digest("hex")}\n`);
  yield Buffer.concat([tarHeader(SEAL, seal.length), seal, Buffer.alloc(padding(seal.length) + END_BYTES)]);
}

/** Writes a large file as a whole or not at all. Returns its size. Errors: the file system's errors, errors of `pieces`. */
export async function writeWhole(file: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  await removeParts(file);
  const part = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString("hex")}.part`);
  let handle: FileHandle | undefined;
  let size = 0;
  let synced = 0;
  try {
    handle = await open(part, "wx", 0o600);
    for await (const piece of pieces) {
      await handle.writeFile(piece);
      size += piece.length;
      if (size - synced < SYNCED_EACH_BYTES) continue;
      syncData(handle.fd);
      synced = size;
    }
    faultPoint("backup.before-sync");
    syncFile(handle.fd);
    await handle.close();
    handle = undefined;
    faultPoint("backup.before-rename");
    await rename(part, file);
    faultPoint("backup.after-rename");
  } catch (error) {
    await handle?.close().catch(() => {});
    await rm(part, { force: true });
    if ((error as NodeJS.ErrnoException).syscall === "open") throw writeFailure(dirname(file), error);
    throw Object.assign(error as NodeJS.ErrnoException, { path: file });
  }
  syncPath(dirname(file));
  return size;
}

/** Removes the files that killed writers of the same file have left. */
async function removeParts(file: string): Promise<void> {
  const names = await readdir(dirname(file));
  const isPart = (name: string): boolean =>
    name.startsWith(`.${basename(file)}.`) && /^[0-9a-f]{8}\.part$/.test(name.slice(basename(file).length + 2));
  for (const name of names.filter(isPart)) await rm(join(dirname(file), name), { force: true });
}
