/** Counts what `palace import adopt` would find in a palace, for `--dry-run`. It needs no broker and changes no byte. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { IdRecipe } from "../../memory/port/drawer.ts";
import { type PalaceError, wrongUsage } from "../../base/errors.ts";
import { requireSchema } from "../driver/files/palace-writer.ts";
import {
  chromaFile,
  DRAWERS,
  isClosedWal,
  missingTables,
  readChroma,
  readCollections,
  TABLES,
} from "../format/chroma-file.ts";
import { readIdRecipe } from "../format/detect-id-recipe.ts";
import { countRows, PalaceVectors, readRows, readTail } from "../format/palace-file.ts";
import { guardPalace } from "../format/refusal.ts";

export type Survey = {
  /** Number of drawers after Chroma has applied its queue. */
  drawers: number;
  /** Number of drawers whose last change Chroma has queued but not applied. */
  queued: number;
  /** Number of drawers with a readable vector. */
  vectors: number;
  /** Number of dimensions of a vector; null without vectors. */
  width: number | null;
  /** Reason why the index cannot be read; null if it can. */
  torn: string | null;
  recipe: IdRecipe | null;
  /** Other collections, which adoption ignores. */
  others: { name: string; rows: number }[];
};

const PAGE_ROWS = 500;
const BUSY_TIMEOUT_MS = 5_000;

/** Counts a palace's rows; undefined if no palace with this collection exists. Errors: STORE_UNAVAILABLE, STORE_CORRUPT. */
export function surveyPalace(palaceDir: string, drawers = DRAWERS): Survey | undefined {
  return guardPalace(palaceDir, () =>
    readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) => {
      const collections = readCollections(palace);
      const collection = collections.find(({ name }) => name === drawers);
      if (collection === undefined) return undefined;
      const others = collections.filter((one) => one !== collection);
      const tail = readTail(palace, collection).rows;
      const vectors = new PalaceVectors(palace, palaceDir, collection);
      const survey: Survey = {
        ...{ drawers: 0, queued: 0, vectors: 0, width: null, torn: vectors.torn ?? null },
        recipe: readIdRecipe(palace, collection) ?? null,
        others: others.map((one) => ({ name: one.name, rows: countRows(palace, one) })),
      };
      const count = (id: string): void => {
        survey.drawers += 1;
        const vector = vectors.vector(id);
        if (vector === undefined) return;
        survey.vectors += 1;
        survey.width ??= vector.length;
      };
      try {
        for (let after = 0; ;) {
          const page = readRows(palace, collection, after, PAGE_ROWS);
          if (page.length === 0) break;
          after = page.at(-1)?.row ?? after;
          for (const { id } of page) if (!tail.has(id)) count(id);
        }
        for (const row of tail.values()) {
          if (row === undefined) continue;
          survey.queued += 1;
          count(row.id);
        }
      } finally {
        vectors.close();
      }
      return survey;
    }),
  );
}

/** Refuses a folder without a usable palace, before anything is created. Errors: CONFIG_*, STORE_CORRUPT, STORE_UNAVAILABLE. */
export function assertPalace(palaceDir: string): void {
  const file = chromaFile(palaceDir);
  const none = (why: string): PalaceError =>
    wrongUsage(
      `${file} ${why}, not a palace of MemPalace`,
      "name the folder that `mempalace status` shows as its palace",
    );
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) throw none("is not a file");
  if (stat.size === 0) throw none("is an empty file");
  // Skips a closed palace in WAL mode, because reading it would create files. The driver checks such a palace when it writes.
  if (isClosedWal(palaceDir)) return;
  guardPalace(palaceDir, () =>
    readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) => {
      if (missingTables(palace).length === TABLES.length) throw none("is another program's database");
      requireSchema(palace, file);
    }),
  );
}

/** Finds the folder with a palace's files: `dir`, or `dir/palace` if `dir` is MemPalace's home. */
export function palaceFolder(dir: string, exists: (file: string) => boolean): string | undefined {
  return [dir, join(dir, "palace")].find((folder) => exists(join(folder, "chroma.sqlite3")));
}
