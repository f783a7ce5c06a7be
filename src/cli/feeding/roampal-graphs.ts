/** Brings the graphs of a Roampal's data folder here, beside its memories. Used by `palace outcome import`. */
import type { Client } from "../../wire/client/client.ts";
import { cut } from "../../base/shorten.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { CARRIED_ENTRIES_MAX, CARRIED_LEVELS_MAX, CARRIED_MAX_BYTES } from "../../protocol/limits.ts";
import type { CarriedEntry } from "../../protocol/outcome.ts";
import type { RoampalFolder } from "../../learning/roampal/source.ts";
import { olderBroker, parts, teller } from "./roampal-parts.ts";

const TOO_LARGE = `it has more than ${CARRIED_MAX_BYTES / 1024 ** 2} MiB`;
const OLDER_BROKER = "the broker is older than this command (palace restart)";
const TOO_DEEP = `it has more than ${CARRIED_LEVELS_MAX} levels`;

/** `refused` and `unread`: entries and files that stay where they are. */
export type GraphsImported = {
  entries: number;
  added: number;
  updated: number;
  unchanged: number;
  refused: { entry: string; why: string }[];
  unread: { file: string; why: string }[];
};

/** The palace keeps the graphs of one folder. */
export function graphsLeft(folder: RoampalFolder): GraphsImported {
  const unread = [...folder.graphs()].map(({ file }) => ({
    file,
    why: "the palace keeps the graphs of `default` only",
  }));
  return { entries: 0, added: 0, updated: 0, unchanged: 0, refused: [], unread };
}

/** Imports the folder's graphs. Errors: the broker's; entries written before an error stay. */
export async function importGraphs(
  client: Client,
  folder: RoampalFolder,
  { isDry, silent }: { isDry: boolean; silent: boolean },
): Promise<GraphsImported> {
  const all: GraphsImported = { entries: 0, added: 0, updated: 0, unchanged: 0, refused: [], unread: [] };
  const refuse = (at: CarriedEntry["at"], why: string): void =>
    void all.refused.push({ entry: cut(at.join(": ")), why });
  for (const { file, entries, deep, why } of folder.graphs()) {
    if (why !== undefined) all.unread.push({ file, why });
    for (const at of deep) refuse(at, TOO_DEEP);
    const tell = teller("importing", `entries of ${file}`, entries.length, silent);
    let done = 0;
    try {
      for (const part of parts(entries, CARRIED_ENTRIES_MAX, ({ at }) => refuse(at, TOO_LARGE))) {
        const report = await client.call("outcome.importGraph", { entries: part, isDry }).catch(olderBroker);
        if (report === undefined) {
          all.unread.push({ file, why: OLDER_BROKER });
          break;
        }
        const { added, updated } = report;
        faultPoint("import.after-part");
        all.added += added;
        all.updated += updated;
        all.unchanged += part.length - added - updated;
        tell.step((done += part.length));
      }
    } finally {
      tell.end();
    }
    all.entries += entries.length + deep.length;
  }
  return all;
}
