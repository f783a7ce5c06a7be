/** Writes a data folder for Roampal without Chroma, under a temporary name that is changed last (outcome-memory.md 2.1, 3.1, 4.2). */
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { faultPoint } from "../../base/fault-point.ts";
import { makeFolder, syncPath } from "../../base/folders.ts";
import type { Metadata } from "../../memory/port/drawer.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import type { CarriedEntry, CarriedMemory } from "../../protocol/outcome.ts";
import { ROAMPAL } from "../../mempalace/driver/files/create.ts";
import { PalaceWriter } from "../../mempalace/driver/files/palace-writer.ts";
import { GraphTexts } from "./graphs.ts";
import { removeLeftovers } from "./leftovers.ts";
import { CHROMA_FOLDER, ROAMPAL_COLLECTIONS } from "./source.ts";

/** Length of Roampal's vectors. Ours differ, so memories get zero vectors, and Roampal ranks by outcomes until it embeds them again. */
const WIDTH = 768;

export class RoampalDraft {
  readonly #dir: string;
  readonly #draft: string;
  readonly #writers: ReadonlyMap<string, PalaceWriter>;
  readonly #graphs = new GraphTexts();

  /** Errors: CONFIG_USAGE if the target folder is not empty or cannot be made. */
  constructor(dir: string) {
    this.#dir = dir;
    this.#draft = `${dir}.export-${process.pid}`;
    try {
      assertFree(dir);
      makeFolder(dirname(dir));
      removeLeftovers(dirname(dir), `${basename(dir)}.export-`);
      mkdirSync(this.#draft, { mode: 0o700 });
      mkdirSync(join(this.#draft, CHROMA_FOLDER), { mode: 0o700 });
    } catch (error) {
      if (error instanceof PalaceError) throw error;
      throw unusable(dir, `cannot be made here (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
    }
    const chroma = join(this.#draft, CHROMA_FOLDER);
    this.#writers = new Map(
      [...ROAMPAL_COLLECTIONS].map(([name, named]) => [name, new PalaceWriter(chroma, named, randomUUID(), ROAMPAL)]),
    );
    for (const writer of this.#writers.values()) writer.create();
  }

  /** Writes memories. A later memory replaces an earlier memory with the same id. */
  write(memories: readonly CarriedMemory[]): void {
    for (const [name, writer] of this.#writers)
      writer.upsert(
        memories
          .filter(({ collection }) => collection === name)
          .map(({ id, text, metadata }) => {
            return { id, text, metadata: metadata as Metadata, vector: new Float32Array(WIDTH) };
          }),
      );
  }

  writeGraphs(entries: readonly CarriedEntry[]): void {
    this.#graphs.add(entries);
  }

  /** Writes the graphs and renames the draft to the target. Errors: CONFIG_USAGE if the target is no longer empty. */
  finish(): void {
    this.#close();
    this.#graphs.write(this.#draft);
    syncPath(join(this.#draft, CHROMA_FOLDER));
    syncPath(this.#draft);
    faultPoint("outcome-export.before-rename");
    try {
      // rename(2) replaces an empty folder, and refuses one with files.
      renameSync(this.#draft, this.#dir);
    } catch (error) {
      throw unusable(this.#dir, `cannot be put in place: ${(error as Error).message}`);
    }
    syncPath(dirname(this.#dir));
  }

  /** Deletes the draft, unless `finish` has renamed it. */
  drop(): void {
    this.#close();
    rmSync(this.#draft, { recursive: true, force: true });
  }

  #close(): void {
    for (const writer of this.#writers.values()) writer.close();
  }
}

function assertFree(dir: string): void {
  const there = lstatSync(dir, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isDirectory()) throw unusable(dir, there.isSymbolicLink() ? "is a symbolic link" : "is not a folder");
  if (readdirSync(dir).length > 0) throw unusable(dir, "is not empty");
}

function unusable(dir: string, why: string): PalaceError {
  return wrongUsage(`${dir} ${why}`, "name a folder that does not exist yet: palace outcome export DIR");
}
