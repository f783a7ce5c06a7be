/** Copies the coordination log for an export, as it is at one moment. The exported palace makes its own replica id at its first use. */
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { damaged } from "../../base/errors.ts";

const NAME = "logstream.sqlite3";
const BUSY_TIMEOUT_MS = 5_000;

/** Returns the number of copied events; copies nothing if this palace has no log. Errors: STORE_CORRUPT. */
export async function copyEvents(palaceDir: string, folder: string): Promise<number> {
  if (!existsSync(join(palaceDir, NAME))) return 0;
  const file = join(folder, NAME);
  const source = new Database(join(palaceDir, NAME), { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    await source.backup(file);
  } finally {
    source.close();
  }
  chmodSync(file, 0o600);
  const copy = new Database(file);
  try {
    copy.pragma("synchronous = FULL");
    if (copy.pragma("quick_check", { simple: true }) !== "ok")
      throw damaged(`${join(palaceDir, NAME)} is damaged`, "restore a backup of it, then repeat the command");
    // Drops our own table of idempotency keys, because clients never repeat their calls to the copy.
    copy.exec("DROP TABLE IF EXISTS palace_devbox_writes");
    return copy.prepare<[], number>("SELECT count(*) FROM events").pluck().get() ?? 0;
  } finally {
    copy.close();
  }
}
