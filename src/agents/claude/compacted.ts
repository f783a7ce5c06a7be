/**
 * Marks sessions of Claude Code whose context was compacted, because the agent no longer sees what it was shown before. The mark is a
 * file, because each hook is a process of its own. Used by `palace hook`.
 */
import { createHash } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { makeFolder } from "../../base/folders.ts";
import { removeOld } from "../../base/old-files.ts";

const KEPT_MAX_MS = 30 * 24 * 3_600_000;

/** Writes the mark. Never throws: without the mark, the agent just does not see earlier memories again. */
export function markCompacted(config: Config, session: string): void {
  try {
    const folder = folderOf(config);
    makeFolder(folder, 0o700);
    writeFileSync(fileOf(config, session), "", { mode: 0o600 });
    removeOld(folder, KEPT_MAX_MS);
  } catch {
    // The disk is full.
  }
}

export function isCompacted(config: Config, session: string): boolean {
  return existsSync(fileOf(config, session));
}

/** Removes the mark. Never throws: showing a memory a second time does no harm. */
export function unmarkCompacted(config: Config, session: string): void {
  try {
    rmSync(fileOf(config, session), { force: true });
  } catch {
    // The folder belongs to another user.
  }
}

function folderOf({ paths }: Config): string {
  return join(paths.cacheDir, "compacted");
}

/** Hashes the session's id: it comes from an agent and may not be a usable file name. */
function fileOf(config: Config, session: string): string {
  return join(folderOf(config), createHash("sha256").update(session).digest("hex").slice(0, 32));
}
