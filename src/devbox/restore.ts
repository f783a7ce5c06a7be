/** Restores a copy into the stack: the folder of `down --volumes` or of a recreate, or a file of `palace backup`. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { quoted } from "../base/shell-word.ts";
import { wrongUsage } from "../base/errors.ts";
import { runCompose, type Watch } from "./compose.ts";
import { boxesOf } from "./engine.ts";
import { composeFailed } from "./failure.ts";
import { treeDiffers } from "./home-tree.ts";
import { currentJob, startOld, stopWriters } from "./recreate/drain.ts";
import { sourceOf } from "./recreate/roll-back.ts";
import { checkBackup, homeTree, putPalace, readTree, restoreHome, restorePalace } from "./snapshot.ts";
import type { Opened } from "./opened.ts";

/** Checked copy. `folder`: set if the copy has a home besides the memory. */
export type Copy = Readonly<{ file: string; folder: string | undefined; drawers: number; facts: number }>;

/** Reads and checks the whole copy. Errors: CONFIG_USAGE for a stack without containers or a path without a copy, STORE_CORRUPT. */
export async function openCopy({ engine, stack }: Opened, path: string, cacheDir: string): Promise<Copy> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? join(path, "palace.tar") : path;
  if (!existsSync(file) || (isFolder && !existsSync(join(path, "snapshot.json"))))
    throw wrongUsage(
      `${path} is neither a backup nor a copy of memory and home; nothing was changed`,
      "give a file of palace backup, or a folder that palace devbox down --volumes or recreate has named",
    );
  if (!(await boxesOf(engine, stack.project)).some(({ service }) => service === "broker"))
    throw wrongUsage("the stack has no containers; nothing was changed", "palace devbox up");
  const { drawers, facts } = await checkBackup(file, cacheDir);
  return { file, folder: isFolder ? path : undefined, drawers, facts };
}

/** Restores the copy, keeps what it replaces, and returns the number of restored files of the home. Errors: STORE_CORRUPT, BROKER_START_FAILED. */
export async function restoreStack(opened: Opened, copy: Copy, cacheDir: string, watch: Watch): Promise<number> {
  const room = { ...opened, ...watch, cacheDir };
  const job = await currentJob(room);
  const source = await sourceOf(room, job);
  await stopWriters(room);
  let home: readonly string[] = [];
  try {
    watch.log("restoring the memory (the present memory is kept beside it) ...");
    if (copy.folder === undefined) await putPalace(source, copy.file);
    else {
      await restorePalace(source, copy.folder);
      home = treeDiffers(readTree(copy.folder), await homeTree(source));
      watch.log("restoring the home ...");
      if (home.length > 0) await restoreHome(source, copy.folder, home);
    }
  } finally {
    await startOld(room, job);
  }
  const { place } = opened;
  const failure = await runCompose(place, ["up", "-d", "--no-build", "--no-recreate", "--wait", "devbox"], watch);
  if (failure === undefined) return home.length;
  watch.log(failure);
  throw composeFailed("the copy is restored, but the stack did not become healthy", failure, place);
}

export function restoreCommand(folder: string): string {
  return `palace devbox up && palace devbox restore ${quoted(folder)}`;
}
