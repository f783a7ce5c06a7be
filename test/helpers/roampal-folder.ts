/** Makes a small data folder as Roampal writes it, without Roampal. Its Chroma has the memories that a test files. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metadata } from "../../src/memory/port/drawer.ts";
import { PalaceWriter } from "../../src/mempalace/driver/files/palace-writer.ts";

export type Filed = { id: string; text: string; metadata?: Metadata };

export type RoampalData = Disposable & {
  dir: string;
  /** Files memories in a collection of Chroma, with their text in the metadata too, as Roampal does. */
  file(collection: string, memories: readonly Filed[]): void;
  remove(collection: string, ids: readonly string[]): void;
};

export function createRoampalData(): RoampalData {
  const dir = mkdtempSync(join(tmpdir(), "roampal-data-"));
  const chroma = join(dir, "chromadb");
  mkdirSync(chroma);
  const writing = (collection: string, work: (writer: PalaceWriter) => void): void => {
    const writer = new PalaceWriter(chroma, collection);
    try {
      work(writer);
    } finally {
      writer.close();
    }
  };
  return {
    dir,
    file: (collection, memories) =>
      writing(collection, (writer) =>
        writer.upsert(
          memories.map(({ id, text, metadata = {} }) => ({
            ...{ id, text, vector: new Float32Array(768).fill(0.1) },
            metadata: { text, content: text, ...metadata },
          })),
        ),
      ),
    remove: (collection, ids) => writing(collection, (writer) => writer.remove(ids)),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}
