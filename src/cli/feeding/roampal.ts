/** Texts that `palace outcome` prints when it imports or exports a Roampal folder. `palace import` uses only the progress report. */
import { quoted } from "../../base/shell-word.ts";
import type { Tell } from "../../learning/roampal/carrying.ts";
import type { Exported } from "../../learning/roampal/export-folder.ts";
import type { Imported } from "../../learning/roampal/import-folder.ts";
import { firstNames, plural } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";

const TELL_AFTER_MS = 2_000;

/** Reports progress: on a terminal at once, otherwise only if the work takes long. */
export function teller(silent: boolean): Tell {
  return (doing, what, total) => {
    const progress = new Progress({ silent });
    let toldAtMs = performance.now();
    return {
      step: (done) => {
        const isDue = performance.now() - toldAtMs > TELL_AFTER_MS;
        if (isDue) toldAtMs = performance.now();
        progress.step(done, total, `${doing} ${what}`, isDue ? `${doing}: ${done} of ${total} ${what}` : undefined);
      },
      end: () => progress.end(),
    };
  };
}

/** Describes the import, one line for each kind of result that occurred. `importer`: the import's name in the journal. */
export function describeImport(imported: Imported, importer: string): string {
  const { dir, dryRun, added, updated, unchanged, kept, gone, refused, overdue, graphs, notUsed } = imported;
  const { ghosts, repeated, unreadable } = imported;
  const would = dryRun ? "would be " : "";
  const isNothing = added + updated + graphs.added + graphs.updated === 0;
  const lines: [count: number, line: string][] = [
    [isNothing ? 0 : 1, `${added} memories ${would}added, ${updated} ${would}brought up to date`],
    [isNothing ? 1 : 0, "nothing to do: everything is here already"],
    [
      graphs.added + graphs.updated,
      `${graphs.added} graph entries ${would}added, ${graphs.updated} ${would}brought up to date`,
    ],
    [unchanged, `${unchanged} are here already, unchanged`],
    [graphs.unchanged, `${graphs.unchanged} graph entries are here already, unchanged`],
    [kept.length, `${kept.length} not replaced, because they were scored or changed here later: ${firstNames(kept)}`],
    [gone.length, `${gone.length} were imported before and deleted here since: ${firstNames(gone)}`],
    [refused.length, `${refused.length} not imported: ${firstNames(refused.map(({ id, why }) => `${id}, ${why}`))}`],
    [
      graphs.refused.length,
      `${graphs.refused.length} graph entries not imported: ${firstNames(graphs.refused.map(({ entry, why }) => `${entry}, ${why}`))}`,
    ],
    ...graphs.unread.map(({ file, why }): [number, string] => [1, `${file} not imported: ${why}`]),
    [ghosts, `${plural(ghosts, "chunk")} of removed books not imported`],
    [repeated, `${repeated} occur twice in Roampal's data and are imported once`],
    [unreadable, `${plural(unreadable, "record")} of Chroma's queue cannot be read`],
    [overdue, `${overdue} are older than their collection allows: the broker deletes them within an hour`],
    ...notUsed.collections.map(({ name, rows }): [number, string] => [
      1,
      `${name} (${rows}) is not a collection of Roampal's`,
    ]),
    [notUsed.files.length, `not used here, still in ${dir}: ${notUsed.files.join(", ")}`],
    [dryRun || isNothing ? 0 : 1, `to undo the import: palace history undo --client "${importer}" --since 1h`],
  ];
  return [`${dir}:`, ...lines.flatMap(([count, line]) => (count === 0 ? [] : [`  ${line}`]))].join("\n");
}

export function describeExport({ dir, memories, entries, others }: Exported): string {
  return [
    `${dir}: ${memories} memories${entries === 0 ? "" : `, ${entries} graph entries`}`,
    ...(others === 0 ? [] : [`  ${others} drawers of the wing are not memories, and were not exported`]),
    `  to open it with Roampal: ROAMPAL_DATA_PATH=${quoted(dir)}`,
    "  Roampal 0.5.9 and newer embed the memories when they start, and then find them by meaning; older versions do not",
  ].join("\n");
}
