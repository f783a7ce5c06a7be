/** `palace backup` writes everything that cannot be rebuilt into one file. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { backupName } from "../../memory/backup/name.ts";
import type { Config } from "../../config/config.ts";
import { wrongUsage } from "../../base/errors.ts";
import { isElsewhere, isServedByStack } from "../docker/served-by-stack.ts";
import { unknownFolder } from "../report/backup-health.ts";
import { reportCancelled } from "../report/job.ts";
import { backUp, type BackupResult } from "../report/take-backup.ts";
import { formatBytes, type Output, plural } from "../terminal/output.ts";
import { readPassphrase } from "../terminal/confirm.ts";
import { assertNoCommand } from "../terminal/place.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace backup [FILE | DIR | -] [--encrypt] [--passphrase-file FILE] [--force]

Writes one file with everything that cannot be rebuilt: the ledger at one moment (drawers, vectors, graph, closets, journal),
the agents' events, the TCP door's tokens (only their hashes) and MemPalace's settings. Agents may work meanwhile. Without a name, the file
goes to the folder of the setting backup-dir, or else into this folder. - writes it to stdout, for a pipe. FILE appears only when it is whole and synced;
Ctrl-C leaves nothing. FILE is a tar archive; palace backup verify FILE checks it, palace backup restore FILE restores it.

  --encrypt               encrypt it with a passphrase (age format); asks for one if none is given in another way
  --passphrase-file FILE  the first line of FILE is the passphrase (else MEMPALACE_BACKUP_PASSPHRASE_FILE, MEMPALACE_BACKUP_PASSPHRASE)
  --force                 replace an older file of that name`,
  options: options("encrypt passphrase-file= force"),
  args: [0, 1],
  forOwner: true,
  run: async ({ values, args, config, out }) => {
    const isPipe = args[0] === "-";
    assertNoCommand("palace backup", args[0] ?? "");
    if (isPipe && (out.isJson || process.stdout.isTTY))
      throw wrongUsage(
        out.isJson ? "--json and - exclude each other" : "a backup cannot be shown on a terminal",
        "palace backup - > FILE",
      );
    const given = config.backup.passphrase(values["passphrase-file"]);
    const isAsked = values.encrypt === true && given === undefined;
    const passphrase = isAsked ? await readPassphrase(config, undefined, true) : given;
    if (isAsked && passphrase === undefined) throw wrongUsage("there is no passphrase", "add --passphrase-file FILE");
    const file = isPipe ? null : goalOf(config, args[0], passphrase !== undefined);
    const made = await backUp(config, { file, passphrase, replace: values.force === true }, out);
    if (made === undefined) return reportCancelled(out);
    out.answer({ ...made }, () => print(made, isPipe, out));
    const unknown = args[0] === undefined && isOwnBroker(config) ? unknownFolder(config) : undefined;
    if (unknown !== undefined)
      out.hint(`The broker makes no backups in ${unknown} by itself before its next start: palace restart`);
    return 0;
  },
});

function isOwnBroker(config: Config): boolean {
  return !isElsewhere(config) && !isServedByStack(config);
}

function goalOf({ paths, backup }: Config, given: string | undefined, isEncrypted: boolean): string {
  const path = resolve(given ?? backup.dir ?? ".");
  const isFolder =
    given === undefined || given.endsWith("/") || statSync(path, { throwIfNoEntry: false })?.isDirectory();
  return isFolder === true ? join(path, backupName(paths.tag, new Date(), isEncrypted)) : path;
}

function print(
  { file, bytes, counts, leftOut, unreadable = [], encrypted, unsettled, journalSeq }: BackupResult,
  isPipe: boolean,
  out: Output,
): void {
  const held = [
    plural(counts.drawers, "drawer"),
    plural(counts.facts, "fact"),
    plural(counts.links, "link"),
    plural(counts.events, "event"),
  ].join(", ");
  const say = isPipe ? (line: string) => out.notice(line) : (line: string) => out.text(line);
  say(`${held}, up to write ${journalSeq}: ${file} (${formatBytes(bytes)}${encrypted ? ", encrypted" : ""})`);
  if (unsettled !== null) out.notice(`${unsettled}; the backup does not contain writes that have not arrived`);
  if (leftOut.length > 0)
    out.notice(`not in it: the palace's collection ${leftOut.join(", ")}; palace export DIR has it`);
  for (const { name, why } of unreadable) out.notice(`not in it: ${name}, which cannot be read: ${why}`);
  if (!isPipe) out.text(out.spelled(`Check it: palace backup verify ${file}`));
}
