/** `palace backup verify` checks whether a backup is whole. */
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeDraft, removeDrafts, VERIFY_DRAFT } from "../../memory/backup/draft.ts";
import { ownBackups, readList } from "../../memory/backup/known-backups.ts";
import { scheduledNames } from "../../memory/backup/name.ts";
import { STDIN, unpackVerified } from "../../memory/backup/verify.ts";
import type { Config } from "../../config/config.ts";
import { wrongUsage } from "../../base/errors.ts";
import { reportCancelled, watchBytes } from "../report/job.ts";
import { formatBytes, plural } from "../terminal/output.ts";
import { readPassphrase } from "../terminal/confirm.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace backup verify [FILE|-] [--passphrase-file FILE]

Reads a backup from its first byte to its last: checks every hash, opens and reads both databases, and compares all counts with
those in the backup. Changes nothing. Without FILE it reads the newest backup that the broker made by itself
(MEMPALACE_BACKUP_DIR). - reads the backup from stdin. It unpacks the backup into a folder of the cache and removes that folder again.

  --passphrase-file FILE  the first line of FILE is its passphrase (else MEMPALACE_BACKUP_PASSPHRASE_FILE, -PASSPHRASE, else asked)`,
  options: options("passphrase-file="),
  args: [0, 1],
  place: "any",
  run: async ({ values, args, config, out }) => {
    const file = args[0] === undefined ? newest(config) : args[0] === STDIN ? STDIN : resolve(args[0]);
    const { cacheDir } = config.paths;
    removeDrafts(cacheDir, VERIFY_DRAFT);
    const { folder, release } = makeDraft(cacheDir, VERIFY_DRAFT);
    const passphrase = (): Promise<string | undefined> => readPassphrase(config, values["passphrase-file"], false);
    try {
      const read = await watchBytes(out, "", (watch) => unpackVerified(file, { folder, ...watch, passphrase }));
      if (read === undefined) return reportCancelled(out);
      const { manifest, bytes, isEncrypted } = read;
      const { version, madeAtMs, journalSeq, counts, leftOut, unreadable = [] } = manifest;
      const held = { encrypted: isEncrypted, version, madeAtMs, journalSeq, counts, leftOut, unreadable };
      return out.answer({ ok: true, file, bytes, ...held }, () => {
        out.text(`Whole: ${file} (${formatBytes(bytes)}${isEncrypted ? ", encrypted" : ""})`);
        out.text(
          `  made ${new Date(madeAtMs).toISOString()} by ${version}, up to write ${journalSeq}: ${plural(counts.drawers, "drawer")}, ` +
            `${plural(counts.facts, "fact")}, ${plural(counts.links, "link")}, ${plural(counts.events, "event")}`,
        );
        for (const { name, why } of unreadable)
          out.notice(`not in it: ${name}, which could not be read when it was made: ${why}`);
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
      release();
    }
  },
});

function newest({ paths, backup }: Config): string {
  const dir = backup.dir ?? readList(paths.home).schedule?.dir;
  if (dir !== undefined) {
    // A lost palace has lost its list of backups, too, so we look in the backup folder.
    const others = scheduledNames(dir, paths.tag).map(({ name }) => ({ file: join(dir, name) }));
    const last = ownBackups(paths, dir).made.at(-1) ?? others.at(-1);
    if (last !== undefined) return last.file;
  }
  throw wrongUsage(
    dir === undefined ? "there are no automatic backups" : `there is no backup of this palace in ${dir}`,
    "name one: palace backup verify FILE",
  );
}
