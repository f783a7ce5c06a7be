/** A backup where the last one is too old, into the folder that the broker makes its own in. Imported by fix.ts. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ownBackups } from "../../memory/backup/known-backups.ts";
import { backupName } from "../../memory/backup/name.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import { overdueFolder } from "../report/backup-health.ts";
import { backUp } from "../report/take-backup.ts";
import type { Output } from "../terminal/output.ts";
import type { Fix } from "./check.ts";

export function backupFixes(config: Config, out: Output): Fix[] {
  const dir = overdueFolder(config);
  // A folder that is missing is a disk that is not mounted.
  if (dir === undefined || !existsSync(dir)) return [];
  const wasEncrypted = ownBackups(config.paths, dir).made.at(-1)?.file.endsWith(".age") === true;
  return [
    {
      name: "backups",
      what: `make a backup in ${dir}`,
      run: async () => {
        // A broker that was started a moment ago makes its own.
        if (overdueFolder(config) === undefined) return `make a backup in ${dir}: the broker has made one`;
        const passphrase = config.backup.passphrase();
        if (wasEncrypted && passphrase === undefined)
          throw new PalaceError(
            "CONFIG_USAGE",
            "the backups there are encrypted, and here is no passphrase",
            "export MEMPALACE_BACKUP_PASSPHRASE_FILE=FILE, then repeat the command",
          );
        const file = join(dir, backupName(config.paths.tag, new Date(), passphrase !== undefined));
        const made = await backUp(config, { file, passphrase, replace: false }, out);
        if (made === undefined) throw new PalaceError("BROKER_CANCELLED", "it was cancelled", "palace backup");
        return `make a backup: ${made.file}`;
      },
    },
  ];
}
