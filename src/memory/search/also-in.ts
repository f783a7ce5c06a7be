/** Finds the other sources that have exactly a hit's text, such as backups and moved files, as MemPalace 3.11 does. */
import type { Drawer } from "../port/drawer.ts";
import { parentOf, sourceOf } from "../drawer/logical.ts";
import { baseName, codePointLength, strip } from "../text/text.ts";

/** Minimum length of a copied text, in code points. Two sources may have a shorter text in common by chance. */
const COPY_MIN = 100;

export type AlsoIn = ReturnType<typeof alsoIn>[number];

/** Returns the hit's other sources. `folded`: near-duplicates of the hit, which are not shown. */
export function alsoIn(hit: Drawer, folded: readonly Drawer[]) {
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
