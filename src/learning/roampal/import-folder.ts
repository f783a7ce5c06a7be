/** Imports memories and graphs of Roampal's data folder through a broker. Repeating an import adds nothing. */
import { cut } from "../../base/shorten.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { CARRIED_ENTRIES_MAX, CARRIED_LEVELS_MAX, CARRIED_MAX, CARRIED_MAX_BYTES } from "../../protocol/limits.ts";
import type { CarriedEntry, ImportReport } from "../../protocol/outcome.ts";
import type { Client } from "../../wire/client/client.ts";
import { parts, type Tell } from "./carrying.ts";
import { type Found, RoampalFolder } from "./source.ts";

const TOO_LARGE = `it has more than ${CARRIED_MAX_BYTES / 1024 ** 2} MiB`;
const TOO_DEEP = `it has more than ${CARRIED_LEVELS_MAX} levels`;
const OTHER_PROFILE = "the palace keeps the graphs of `default` only";

type GraphsImported = {
  entries: number;
  added: number;
  updated: number;
  unchanged: number;
  refused: { entry: string; why: string }[];
  unread: { file: string; why: string }[];
};

export type Imported = Found & {
  dir: string;
  dryRun: boolean;
  added: number;
  updated: number;
  unchanged: number;
  graphs: GraphsImported;
  notUsed: { collections: { name: string; rows: number }[]; files: string[] };
} & Omit<ImportReport, "added" | "updated">;

type Importing = { isDry: boolean; profile: string | undefined; tell: Tell };

/** Imports in several calls. After an error, the finished calls stay. Errors: errors of reading the folder, and the broker's errors. */
export async function importRoampal(
  client: Client,
  dir: string,
  { isDry, profile, tell }: Importing,
): Promise<Imported> {
  const named = profile === undefined ? {} : { profile };
  const folder = new RoampalFolder(dir);
  const all: ImportReport = { added: [], updated: [], kept: [], gone: [], refused: [], overdue: 0 };
  // The size of a call also counts the fields that repeat the text, so a text below the limit can be too large.
  const why = `${TOO_LARGE}, its text counted once more for each field that repeats it`;
  const told = tell("importing", "memories", folder.total);
  try {
    for (const memories of parts(folder.memories(), CARRIED_MAX, ({ id }) => all.refused.push({ id: cut(id), why }))) {
      const one = await client.call("outcome.import", { memories, isDry, ...named });
      for (const name of ["added", "updated", "kept", "gone"] as const) all[name].push(...one[name]);
      all.refused.push(...one.refused);
      all.overdue += one.overdue;
      faultPoint("import.after-part");
      told.step(folder.found.memories);
    }
    told.end();
    const graphs = await importGraphs(client, folder, { isDry, profile, tell });
    const [added, updated] = [all.added.length, all.updated.length];
    const { memories } = folder.found;
    const unchanged = memories - added - updated - all.kept.length - all.gone.length - all.refused.length;
    return { dir, dryRun: isDry, ...folder.found, ...all, added, updated, unchanged, graphs, notUsed: folder.others };
  } finally {
    told.end();
    folder.close();
  }
}

async function importGraphs(
  client: Client,
  folder: RoampalFolder,
  { isDry, profile, tell }: Importing,
): Promise<GraphsImported> {
  const all: GraphsImported = { entries: 0, added: 0, updated: 0, unchanged: 0, refused: [], unread: [] };
  const refuse = (at: CarriedEntry["at"], why: string): number => all.refused.push({ entry: cut(at.join(": ")), why });
  for (const { file, entries, deep, why } of folder.graphs()) {
    const unread = profile === undefined ? why : OTHER_PROFILE;
    if (unread !== undefined) all.unread.push({ file, why: unread });
    if (profile !== undefined) continue;
    for (const at of deep) refuse(at, TOO_DEEP);
    const told = tell("importing", `entries of ${file}`, entries.length);
    let done = 0;
    try {
      for (const part of parts(entries, CARRIED_ENTRIES_MAX, ({ at }) => refuse(at, TOO_LARGE))) {
        const { added, updated } = await client.call("outcome.importGraph", { entries: part, isDry });
        faultPoint("import.after-part");
        all.added += added;
        all.updated += updated;
        all.unchanged += part.length - added - updated;
        told.step((done += part.length));
      }
    } finally {
      told.end();
    }
    all.entries += entries.length + deep.length;
  }
  return all;
}
