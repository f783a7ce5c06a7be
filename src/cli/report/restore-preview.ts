/** Shows what a restore would change, and asks before it starts. */
import { TOKENS } from "../../memory/backup/contents.ts";
import type { glance } from "../../memory/backup/look.ts";
import type { Manifest } from "../../memory/backup/manifest.ts";
import type { Staged } from "../../memory/backup/restore.ts";
import { confirm } from "../terminal/confirm.ts";
import { type Output, plural } from "../terminal/output.ts";

/** A checked backup in the form that `--json` prints. */
export type Coming = Pick<Manifest, "version" | "madeAtMs" | "journalSeq" | "counts" | "leftOut" | "unreadable"> & {
  file: string;
  bytes: number;
  encrypted: boolean;
  /** True if the backup contains tokens of the TCP door. */
  tokens: boolean;
};

/** `before`: counts of the present palace, or null if unreadable. `there`: names of the files that would be moved aside. */
export type Standing = { before: NonNullable<ReturnType<typeof glance>> | null; there: string[] };

export function described(file: string, { manifest, bytes, isEncrypted }: Staged): Coming {
  const { version, madeAtMs, journalSeq, counts, leftOut, unreadable = [], files } = manifest;
  const tokens = files.some(({ name }) => name === TOKENS);
  return { file, bytes, encrypted: isEncrypted, version, madeAtMs, journalSeq, counts, leftOut, unreadable, tokens };
}

/** Returns true if no palace exists, or if the user agrees to move it aside. Errors: CONFIG_USAGE if the user cannot be asked. */
export async function isWanted({ before, there }: Standing, yes: boolean | undefined): Promise<boolean> {
  const what = before === null ? there.join(", ") : plural(before.drawers, "drawer");
  return there.length === 0 || confirm(`Move ${what} aside and restore the backup?`, yes);
}

export function preview(
  { counts, journalSeq, madeAtMs, version, leftOut, unreadable = [], tokens }: Coming,
  { before, there, withTokens }: Standing & { withTokens: boolean },
  out: Output,
): void {
  if (out.isJson) return;
  const unread = there.length === 0 ? "nothing" : `nothing that can be read, in ${there.join(", ")}`;
  const here = before === null ? unread : `${plural(before.drawers, "drawer")}, up to write ${before.journalSeq}`;
  out.table([
    ["present palace", here],
    [
      "backup",
      `${plural(counts.drawers, "drawer")}, up to write ${journalSeq}, made ${new Date(madeAtMs).toISOString()} by ${version}`,
    ],
  ]);
  if (leftOut.length > 0) out.notice(`not in the backup: the palace's collection ${leftOut.join(", ")}`);
  for (const { name, why } of unreadable)
    out.notice(`not in the backup: ${name}, which could not be read when it was made: ${why}`);
  if (tokens)
    out.notice(
      withTokens
        ? "if this palace has no tokens, the backup's tokens will open the TCP door; to list them: palace bridge token list"
        : "the backup's tokens of the TCP door are not restored; --with-tokens restores them if this palace has none",
    );
}
