/** Stores each session's wake-up text, and which sessions were compacted, in small files, because each hook is a separate process. */
import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../config/config.ts";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { removeOld } from "../base/old-files.ts";
import { readText } from "../base/regular-file.ts";

const KEPT_MAX_MS = 30 * 24 * 3_600_000;

type Kind = "wake-up" | "compacted";

/** Stores a wake-up text, or that a session was compacted. Never throws, because the agent also works without the stored text. */
export function keepNote(config: Config, kind: Kind, session: string, text = ""): void {
  const file = fileOf(config, kind, session);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileAtomic(file, text);
    removeOld(dirname(file), KEPT_MAX_MS);
  } catch {
    // The file cannot be written, for example because the disk is full.
  }
}

export function keptNote(config: Config, kind: Kind, session: string): string | undefined {
  return readText(fileOf(config, kind, session));
}

/** Deletes the file of `keepNote`. Never throws: if the file of a compaction stays, the agent only gets memories a second time. */
export function dropNote(config: Config, kind: Kind, session: string): void {
  try {
    rmSync(fileOf(config, kind, session), { force: true });
  } catch {
    // The file stays, for example because the folder belongs to another user.
  }
}

/** Hashes the session's id, because an agent chose it and it may not be a usable file name. */
function fileOf({ paths }: Config, kind: Kind, session: string): string {
  return join(paths.cacheDir, kind, `${createHash("sha256").update(session).digest("hex").slice(0, 32)}.txt`);
}
