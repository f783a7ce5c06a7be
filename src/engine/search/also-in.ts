/**
 * Where else a hit's text stands word for word: copies of one passage in backups, exports and moved files, which are folded into
 * the hit. As 3.11 names them. Pure; used by search.ts.
 */
import type { Drawer } from "../../port/drawer.ts";
import { parentOf } from "../drawer/logical.ts";
import { baseName, codePointLength, strip } from "../text/text.ts";

/** Of a shorter text it is chance that two sources have it. */
const COPY_MIN = 100;

export type AlsoIn = {
  drawer_id: string;
  source_file: string;
  source_path: string;
  wing: string;
  room: string;
  chunk_index: unknown;
};

/** The same text, of other sources than the hit's; none for a text that nobody says the source of. */
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
