/** Names the commands that remove copies of a forgotten text. Pure. Used by `palace forget`. */
import { quoted } from "../../base/shell-word.ts";
import type { Trace } from "./traces.ts";

/** Matches the folder in which a restore, a repair or a migration keeps the former palace. */
const KEPT = /^(.*?\/before-[^/]+)\//;

export function removalHints(standing: readonly Trace[]): string[] {
  const kept = standing.flatMap(({ path }) => KEPT.exec(path)?.[1] ?? []);
  const folders = [...new Set(kept)].map((folder) => `if you no longer need that copy: rm -rf ${quoted(folder)}`);
  const isBackup = ({ path, what }: Trace): boolean => what.endsWith("backup") && !KEPT.test(path);
  return standing.some(isBackup)
    ? [
        ...folders,
        "for backups: delete those files, or name the text: printf %s TEXT | palace forget --match - --rewrite-backups",
      ]
    : folders;
}
