/** Checks where a backup may be written: never among the palace's own files, and only over an older backup. */
import { closeSync, lstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { realPath } from "../../base/real-path.ts";
import { quoted } from "../../base/shell-word.ts";
import { type PalaceError, wrongUsage } from "../../base/errors.ts";
import { MANIFEST } from "./manifest.ts";
import { isBackupName } from "./name.ts";
import { AGE_MAGIC } from "./secret.ts";
import { BLOCK_BYTES, sizeIn, tarHeader } from "./tar.ts";

export type BackupTarget = { file: string; replace: boolean };

/** Errors: CONFIG_USAGE. */
export function assertTarget(
  { file, replace }: BackupTarget,
  { home, palaceDir }: { home: string; palaceDir: string },
): void {
  const refuse = (why: string, hint = "name another: palace backup FILE"): PalaceError =>
    wrongUsage(`${file} ${why}`, hint);
  if (file.includes("\0")) throw refuse("is not a path");
  if (statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() !== true)
    throw refuse("is in a folder that does not exist", `mkdir -p ${quoted(dirname(file))}`);
  const folder = realpathSync(dirname(file));
  const isAmongOwn = [home, palaceDir].some((own) => (realPath(own) ?? own) === folder);
  if (isAmongOwn && !isBackupName(basename(file))) throw refuse("would be among the palace's own files");
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (there.isDirectory()) throw refuse("is a folder");
  if (!replace) throw refuse("exists already");
  if (!there.isFile() || (there.size > 0 && !beginsLikeOurs(file)))
    throw refuse("is not a palace backup, and is not overwritten");
}

/** Returns true if the file begins like a backup. Every file that `age` encrypted counts as an encrypted backup. */
function beginsLikeOurs(file: string): boolean {
  const head = Buffer.alloc(BLOCK_BYTES);
  const fd = openSync(file, "r");
  try {
    readSync(fd, head, 0, head.length, 0);
  } finally {
    closeSync(fd);
  }
  const size = sizeIn(head);
  return head.indexOf(AGE_MAGIC) === 0 || (Number.isSafeInteger(size) && head.equals(tarHeader(MANIFEST, size)));
}
