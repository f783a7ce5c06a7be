/**
 * Finds other sources with exactly the text of a hit, for example backups, exports and moved files. Their drawers are not shown as hits;
 * the hit names the sources, as in 3.11. Pure; used by search.ts.
 */
import type { Drawer } from "../port/drawer.ts";
import { parentOf } from "../drawer/logical.ts";
import { baseName, codePointLength, strip } from "../text/text.ts";

/** Minimum length of a text that counts as a copy. A shorter text may be in two sources by chance. */
const COPY_MIN = 100;

export type AlsoIn = {
  drawer_id: string;
  source_file: string;
  source_path: string;
  wing: string;
  room: string;
  chunk_index: unknown;
};

/** Returns the other sources of drawers with the hit's text, for its `also_in`. Empty if the hit's source is unknown. */
export function alsoIn(hit: Drawer, folded: readonly Drawer[]): AlsoIn[] {
  const own = sourceOf(hit);
  if (own === "" || codePointLength(strip(hit.text)) < COPY_MIN) return [];
  return folded
    .filter((drawer) => drawer.text === hit.text && sourceOf(drawer) !== "" && sourceOf(drawer) !== own)
    .map((drawer) => ({
      drawer_id: parentOf(drawer.metadata) ?? drawer.id,
      source_file: baseName(sourceOf(drawer)),
      source_path: sourceOf(drawer),
      wing: drawer.wing,
      room: drawer.room,
      chunk_index: drawer.metadata["chunk_index"] ?? null,
    }));
}

function sourceOf({ metadata }: Drawer): string {
  const source = metadata["source_file"];
  return typeof source === "string" ? source : "";
}
