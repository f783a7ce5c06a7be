/** Explains in an error why palace and ledger could not be compared. Called inside worker threads, which cannot pass on SQLite's code. */
import { damaged, PalaceError } from "../../base/errors.ts";
import { chromaFile } from "./chroma-file.ts";

const BY_ITSELF = "it is tried again by itself";

export function guardPalace<T>(palaceDir: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusalOf(error, palaceDir);
  }
}

/** Returns an error that explains why the comparison failed. Never throws. */
export function refusalOf(error: unknown, palaceDir: string): PalaceError {
  if (error instanceof PalaceError) return error;
  const { message, code = "" } = error as { message?: string; code?: unknown };
  const why = `${chromaFile(palaceDir)}: ${message ?? String(error)}`;
  const unavailable = (hint: string): PalaceError => new PalaceError("STORE_UNAVAILABLE", why, hint, { cause: error });
  const [, kind = ""] = /^(?:SQLITE_)?([A-Z]+)/.exec(String(code)) ?? [];
  switch (kind) {
    case "BUSY":
    case "LOCKED":
      return unavailable(`end the process that holds this file; ${BY_ITSELF}`);
    case "CORRUPT":
    case "NOTADB":
      return damaged(why, "restore a backup of the palace, or run `mempalace repair`, then `palace restart`", error);
    case "FULL":
    case "ENOSPC":
      return unavailable(`make room on the disk; ${BY_ITSELF}`);
    case "CANTOPEN":
    case "PERM":
    case "READONLY":
    case "EACCES":
    case "EPERM":
      return unavailable(`let the broker's user read and write the palace folder; ${BY_ITSELF}`);
    case "IOERR":
    case "EIO":
      return unavailable(`look at the disk; ${BY_ITSELF}`);
    default:
      return unavailable("run `palace logs`, then `palace restart`; this memory itself works meanwhile");
  }
}
