/** Finds the recipe that made the ids of a palace's rows (upstream-latest.md 2.3). */
import type { IdRecipe } from "../../memory/port/drawer.ts";
import type { ChromaCollection, ChromaDatabase } from "./chroma-file.ts";
import { selectValue } from "../../memory/ledger/select.ts";

/** Returns `v3` if MemPalace 3.11 wrote any row; undefined for a palace without rows. */
export function readIdRecipe(palace: ChromaDatabase, { metadataSegment }: ChromaCollection): IdRecipe | undefined {
  const any = selectValue<number>(palace, "SELECT 1 FROM embeddings WHERE segment_id = ? LIMIT 1", metadataSegment);
  if (any === undefined) return undefined;
  const sql = `SELECT 1 FROM embedding_metadata m JOIN embeddings e ON e.id = m.id
    WHERE m.key = 'id_recipe' AND m.string_value = 'v3' AND e.segment_id = ? LIMIT 1`;
  const newer = selectValue<number>(palace, sql, metadataSegment);
  return newer === undefined ? "bare" : "v3";
}
