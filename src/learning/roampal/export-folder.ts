/** Writes all memories of a profile into a data folder that Roampal can open. */
import { faultPoint } from "../../base/fault-point.ts";
import { PalaceError } from "../../base/errors.ts";
import type { CarriedPage, GraphPage } from "../../protocol/outcome.ts";
import type { Client } from "../../wire/client/client.ts";
import type { Tell } from "./carrying.ts";
import { RoampalDraft } from "./target.ts";

const TRIES = 5;

/** Result. `entries`: number of entries of Roampal's graphs. `others`: number of drawers in the wing that are not memories. */
export type Exported = { dir: string; memories: number; entries: number; others: number };

type Exporting = { profile: string | undefined; tell: Tell };

/** Writes the folder; leaves none after an error. Errors: BROKER_BUSY if memories are deleted in each try; RoampalDraft's; the broker's. */
export async function exportRoampal(client: Client, dir: string, options: Exporting): Promise<Exported> {
  for (let tries = 0; tries < TRIES; tries++) {
    const draft = new RoampalDraft(dir);
    try {
      const written = await writeAll(client, draft, options);
      if (written === undefined) continue;
      draft.finish();
      return { dir, ...written };
    } finally {
      draft.drop();
    }
  }
  throw new PalaceError("BROKER_BUSY", "memories are deleted faster than they can be read", "repeat the command");
}

/** Returns undefined if memories were deleted between two pages, so that the export must start again. */
async function writeAll(
  client: Client,
  draft: RoampalDraft,
  { profile, tell }: Exporting,
): Promise<Omit<Exported, "dir"> | undefined> {
  const written = { memories: 0, entries: 0, others: 0 };
  const named = profile === undefined ? {} : { profile };
  let told: ReturnType<Tell> | undefined;
  try {
    for (let next: CarriedPage["next"] = { from: 0, after: "" }; next !== null;) {
      const page: CarriedPage = await client.call("outcome.export", { ...next, ...named });
      if (page.isShifted) return undefined;
      told ??= tell("exporting", "memories", page.total);
      draft.write(page.memories);
      faultPoint("outcome-export.after-page");
      written.memories += page.memories.length;
      written.others += page.others;
      told.step(written.memories);
      next = page.next;
    }
    for (let next: GraphPage["next"] = profile === undefined ? "" : null; next !== null;) {
      const page: GraphPage = await client.call("outcome.exportGraph", { after: next });
      draft.writeGraphs(page.entries);
      faultPoint("outcome-export.after-page");
      written.entries += page.entries.length;
      next = page.next;
    }
    return written;
  } finally {
    told?.end();
  }
}
