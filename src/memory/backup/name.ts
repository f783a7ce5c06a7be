/** The default name of a backup, from its palace and its time. The names of one palace sort by time. */
import { namesIn } from "../../base/read-folder.ts";

/** `tag`: the palace's tag, 8 hex digits. */
export function backupName(tag: string, at: Date, isEncrypted: boolean): string {
  return `palace-${tag}-${at.toISOString().replaceAll(/[-:.]/g, "")}.tar${isEncrypted ? ".age" : ""}`;
}

export function isBackupName(name: string): boolean {
  return /^palace-[0-9a-f]{8}-\d{8}T\d{9}Z\.tar(?:\.age)?$/.test(name);
}

/** Lists one palace's backups, the oldest first. An unreadable folder counts as empty. */
export function scheduledNames(dir: string, tag: string): { name: string; madeAtMs: number }[] {
  const pattern = new RegExp(
    `^palace-${tag}-(\\d{4})(\\d\\d)(\\d\\d)T(\\d\\d)(\\d\\d)(\\d\\d)(\\d{3})Z\\.tar(?:\\.age)?$`,
  );
  return namesIn(dir)
    .flatMap((name) => {
      const [, year, month, day, hour, minute, second, milli] = pattern.exec(name) ?? [];
      if (milli === undefined) return [];
      return [{ name, madeAtMs: Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milli}Z`) }];
    })
    .sort((a, b) => a.madeAtMs - b.madeAtMs);
}
