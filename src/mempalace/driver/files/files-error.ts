/** Translates errors of the palace's own files into PalaceErrors. */
import { PalaceError } from "../../../base/errors.ts";

/** Translates an error and never throws. An unknown error counts as unavailable, so that the outbox tries again. */
export function filesError(error: unknown, file: string): PalaceError {
  if (error instanceof PalaceError) return error;
  const code = String((error as { code?: unknown } | null)?.code ?? "");
  const message = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  if (/^SQLITE_(CORRUPT|NOTADB|FORMAT)/.test(code))
    return new PalaceError("STORE_CORRUPT", `the palace file ${file} is damaged: ${message}`, "palace doctor", options);
  const unavailable = (why: string): PalaceError => new PalaceError("STORE_UNAVAILABLE", why, "palace status", options);
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return unavailable(`another process is writing ${file}`);
  if (/^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(code)) return unavailable(`the disk of ${file} is full`);
  if (/^(SQLITE_(READONLY|CANTOPEN|PERM)|EACCES|EPERM|EROFS)/.test(code))
    return unavailable(`${file} cannot be written: ${message}`);
  return unavailable(`${file}: ${message}`);
}
