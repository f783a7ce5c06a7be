/** Reads the settings of scheduled backups and the passphrase of all backups. Used by config.ts. */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { PalaceError } from "../base/errors.ts";
import { type Env, readVariable, type VariableName } from "./env.ts";

export type BackupConfig = Readonly<{
  /** Folder of the scheduled backups; undefined: the broker only makes backups that are asked for. */
  dir: string | undefined;
  hours: number;
  keep: number;
  /** Read lazily; undefined: backups are not encrypted. Errors: CONFIG_BAD_VALUE. */
  passphrase: (file?: string) => string | undefined;
}>;

/** Errors: CONFIG_BAD_VALUE. */
export function readBackup(env: Env): BackupConfig {
  const dir = readVariable(env, "MEMPALACE_BACKUP_DIR");
  if (dir !== undefined && !isAbsolute(dir))
    throw bad("MEMPALACE_BACKUP_DIR", dir, "an absolute path", "MEMPALACE_BACKUP_DIR=~/backups");
  return {
    dir,
    hours: positive(env, "MEMPALACE_BACKUP_HOURS", 24),
    keep: Math.ceil(positive(env, "MEMPALACE_BACKUP_KEEP", 7)),
    passphrase: (file) => {
      const named = file ?? readVariable(env, "MEMPALACE_BACKUP_PASSPHRASE_FILE");
      return named === undefined ? readVariable(env, "MEMPALACE_BACKUP_PASSPHRASE") : firstLine(named);
    },
  };
}

function firstLine(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new PalaceError("CONFIG_BAD_VALUE", `the passphrase file ${file} cannot be read`, `ls -l ${file}`, { cause });
  }
  const [line = ""] = text.split(/\r?\n/);
  if (line !== "") return line;
  throw new PalaceError("CONFIG_BAD_VALUE", `the passphrase file ${file} has an empty first line`, "write one there");
}

function positive(env: Env, name: VariableName, fallback: number): number {
  const value = readVariable(env, name);
  if (value === undefined) return fallback;
  const number = Number(value);
  if (Number.isFinite(number) && number > 0) return number;
  throw bad(name, value, "a number above 0", `${name}=${fallback}`);
}

function bad(name: string, value: string, what: string, good: string): PalaceError {
  return new PalaceError("CONFIG_BAD_VALUE", `${name}=${value} is not ${what}`, `export ${good}`);
}
