/**
 * Brings the memories of a Roampal's data folder here, a hundred in a write, then its graphs; one that is broken off is done again from the
 * start, and finds what came before. Used by `palace outcome import`.
 */
import type { Client } from "../../wire/client/client.ts";
import { cut } from "../../base/shorten.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { CARRIED_MAX, CARRIED_MAX_BYTES } from "../../protocol/limits.ts";
import type { ImportReport } from "../../protocol/outcome.ts";
import { type Found, RoampalFolder } from "../../learning/roampal/source.ts";
import { plural } from "../terminal/output.ts";
import { type GraphsImported, graphsLeft, importGraphs } from "./roampal-graphs.ts";
import { parts, teller } from "./roampal-parts.ts";

const NAMED_MAX = 5;
/** Roampal's fields repeat the text, and calls carry them. */
const TOO_LARGE = `it has more than ${CARRIED_MAX_BYTES / 1024 ** 2} MiB, its text counted once more for each field that repeats it`;

export type Imported = Found & {
  dir: string;
  dryRun: boolean;
  added: number;
  updated: number;
  unchanged: number;
  graphs: GraphsImported;
  notUsed: { collections: { name: string; rows: number }[]; files: string[] };
} & Omit<ImportReport, "added" | "updated">;

/**
 * Imports the memories of a Roampal's folder. Errors: the folder's, the broker's; memories written before an error
 * stay.
 */
export async function importRoampal(
  client: Client,
  dir: string,
  { isDry, silent, profile }: { isDry: boolean; silent: boolean; profile: string | undefined },
): Promise<Imported> {
  const named = profile === undefined ? {} : { profile };
  const folder = new RoampalFolder(dir);
  const tell = teller("importing", "memories", folder.total, silent);
  const all: ImportReport = { added: [], updated: [], kept: [], gone: [], refused: [], overdue: 0 };
  try {
    for (const memories of parts(folder.memories(), CARRIED_MAX, ({ id }) => {
      all.refused.push({ id: cut(id), why: TOO_LARGE });
    })) {
      const one = await client.call("outcome.import", { memories, isDry, ...named });
      for (const name of ["added", "updated", "kept", "gone"] as const) all[name].push(...one[name]);
      all.refused.push(...one.refused);
      all.overdue += one.overdue;
      faultPoint("import.after-part");
      tell.step(folder.found.memories);
    }
    tell.end();
    const graphs = profile === undefined ? await importGraphs(client, folder, { isDry, silent }) : graphsLeft(folder);
    const [added, updated] = [all.added.length, all.updated.length];
    const { memories } = folder.found;
    const unchanged = memories - added - updated - all.kept.length - all.gone.length - all.refused.length;
    return { dir, dryRun: isDry, ...folder.found, ...all, added, updated, unchanged, graphs, notUsed: folder.others };
  } finally {
    tell.end();
    folder.close();
  }
}

/** One line for everything that happened, and none for what did not. `importer`: its name in the journal. */
export function describeImport(imported: Imported, importer: string): string {
  const { dir, dryRun, added, updated, unchanged, kept, gone, refused, overdue, graphs, notUsed } = imported;
  const { ghosts, repeated, unreadable } = imported;
  const would = dryRun ? "would be " : "";
  const isNothing = added + updated + graphs.added + graphs.updated === 0;
  const lines: [count: number, line: string][] = [
    [isNothing ? 0 : 1, `${added} memories ${would}added, ${updated} ${would}brought up to date`],
    [isNothing ? 1 : 0, "nothing to do: whatever is to be imported is here"],
    [
      graphs.added + graphs.updated,
      `${graphs.added} entries of its graphs ${would}added, ${graphs.updated} ${would}brought up to date`,
    ],
    [unchanged, `${unchanged} here already, just so`],
    [graphs.unchanged, `${graphs.unchanged} entries of its graphs here already, just so`],
    [kept.length, `${kept.length} stay as they are here, where they were scored or changed last: ${named(kept)}`],
    [gone.length, `${gone.length} came before, and have gone here since: ${named(gone)}`],
    [refused.length, `${refused.length} not imported: ${named(refused.map(({ id, why }) => `${id}, ${why}`))}`],
    [
      graphs.refused.length,
      `${graphs.refused.length} entries of its graphs not imported: ${named(graphs.refused.map(({ entry, why }) => `${entry}, ${why}`))}`,
    ],
    ...graphs.unread.map(({ file, why }): [number, string] => [1, `${file} not imported: ${why}`]),
    [ghosts, `${plural(ghosts, "chunk")} of removed books not imported`],
    [repeated, `${repeated} stand there twice, and come once`],
    [unreadable, `${plural(unreadable, "record")} of Chroma's queue cannot be read`],
    [overdue, `${overdue} older than their collection keeps them: they go within the hour, as they would over there`],
    ...notUsed.collections.map(({ name, rows }): [number, string] => [
      1,
      `${name} (${rows}) is no collection of Roampal's`,
    ]),
    [notUsed.files.length, `not used here, still in ${dir}: ${notUsed.files.join(", ")}`],
    [dryRun || isNothing ? 0 : 1, `back: palace history undo --client "${importer}" --since 1h`],
  ];
  return [`${dir}:`, ...lines.flatMap(([count, line]) => (count === 0 ? [] : [`  ${line}`]))].join("\n");
}

function named(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}
