/** Changes one key of `settings.json` under a lock, and keeps the rest of the file, also what an editor saved meanwhile. */
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettingValue } from "../../config/settings-value.ts";
import { Draft, propertyOf, valueOf } from "../../agents/install/draft.ts";
import { writeUserFile } from "../../base/atomic-file.ts";
import { canWrite } from "../../base/can-write.ts";
import { isInContainer } from "../../base/container.ts";
import { readRegularFile } from "../../base/regular-file.ts";
import { quoted } from "../../base/shell-word.ts";
import { badValue, PalaceError, unavailable, unwritable } from "../../base/errors.ts";
import { exists } from "../terminal/place.ts";

const LOCK_MAX_MS = 10_000;
const LOCK_RETRY_MS = 20;
const ATTEMPTS = 20;
const FILE_MODE = 0o600;

/** Sets a key, or removes it if `value` is missing. Returns true if the file changed. Errors: CONFIG_BAD_VALUE, STORE_*. */
export async function editSettings(path: string, key: string, value: SettingValue | undefined): Promise<boolean> {
  const folder = dirname(path);
  if (value === undefined && !exists(path)) return false;
  if (!exists(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!canWrite(folder)) throw readOnly(path, key, value);
  const lock = await takeLock(folder);
  try {
    for (let left = ATTEMPTS; ; left -= 1) {
      const outcome = editOnce(path, key, value);
      if (outcome !== "again") return outcome === "changed";
      if (left === 0) throw busy(path);
    }
  } finally {
    closeSync(lock);
  }
}

function editOnce(path: string, key: string, value: SettingValue | undefined): "changed" | "same" | "again" {
  const before = contentOf(path);
  const draft = new Draft(path, before ?? "");
  change(draft, key, value);
  if (draft.content === before) return "same";
  const mode = before === undefined ? FILE_MODE : statSync(path).mode & 0o777;
  let isOutdated = false;
  try {
    writeUserFile(path, draft.content, mode, undefined, () => {
      isOutdated = contentOf(path) !== before;
      if (isOutdated) throw new Error("saved meanwhile");
    });
  } catch (error) {
    if (isOutdated) return "again";
    throw error;
  }
  return "changed";
}

function change(draft: Draft, key: string, value: SettingValue | undefined): void {
  if (value === undefined) {
    for (let root = draft.root(); root !== undefined; root = draft.root()) {
      const property = propertyOf(root, key);
      if (property === undefined) return;
      draft.remove(root, property);
    }
    return;
  }
  const root = draft.root();
  const old = valueOf(root, key);
  if (old === undefined) draft.insert(root, key, value);
  else draft.replace(old, draft.source(old, value));
}

/** Waits for the lock, which the kernel releases when the process ends. Without file locks, only `editOnce` notices other writers. */
async function takeLock(folder: string): Promise<number> {
  const { tryFlock } = await import("../../base/libc.ts");
  const lock = openSync(folder, "r");
  try {
    for (const deadline = performance.now() + LOCK_MAX_MS; !tryFlock(lock); await sleep(LOCK_RETRY_MS))
      if (performance.now() > deadline) throw busy(folder);
  } catch (error) {
    if (error instanceof PalaceError) {
      closeSync(lock);
      throw error;
    }
  }
  return lock;
}

function busy(path: string): PalaceError {
  return unavailable(`${path} is being changed by another command`, "run this again");
}

/** Makes the error of a read-only palace. In a container, its hint names the broker's container, which can write the file. */
function readOnly(path: string, key: string, value: SettingValue | undefined): PalaceError {
  const words = value === undefined ? `unset ${key}` : `set ${key} ${quoted(String(value))}`;
  return unwritable(
    `${path} cannot be written from here`,
    isInContainer()
      ? `on the host, beside docker-compose.yml: docker compose exec broker palace config ${words}`
      : `as the owner of ${dirname(path)}: palace config ${words}`,
  );
}

function contentOf(path: string): string | undefined {
  try {
    return readRegularFile(path).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw badValue(`${path} cannot be read: ${(error as Error).message}`, `ls -l ${path}`, error);
  }
}
