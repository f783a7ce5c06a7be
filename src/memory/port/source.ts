/** Sources of drawers: documents and transcripts, and the parts in which they arrive. */
import type { Miner } from "../../protocol/filing.ts";

/** The filing record of a source. `mtime`: Unix time, s; `sha256`: digest of the content, hex. */
export type SourceRow = { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };

/** Query for the mined sources in the folder `below` (an absolute path). `after`: `last` of the previous page. */
export type MinedQuery = { wing: string; miner: Miner; below: string; after?: string | undefined };

/** Page of mined sources. `last`: the cursor for the next page; undefined on the last page. */
export type MinedPage = { rows: MinedRow[]; last: string | undefined };

/** A mined source with values from its adopted drawers. Any program may have written them, so their types are unknown. */
export type MinedRow = { sourceFile: string; mtime: unknown; filedAt: unknown };

/** Drawers of one source with the same `directoryId` and `isRegistry`. */
export type SourceGroup = {
  sourceFile: string;
  /** Inode number of the source's folder at filing time, if recorded. */
  directoryId: string | null;
  /** True for the rows with which upstream's conversation miner marks a file as mined. */
  isRegistry: boolean;
  drawers: number;
  /** Row of the group's newest drawer. Drawers that are filed later are not in the group. */
  lastRow: number;
};

/** The source files on the broker's machine. */
export interface SourceFiles {
  /** Returns `absent` only if the folders of the path can be read and the file does not exist. */
  state(path: string): "file" | "other" | "absent" | "unknown";
  /** Returns the path with links resolved, as far as it exists; undefined if that cannot be determined. */
  resolve(path: string): string | undefined;
  /** Returns true if the folder has a .git or a .gitignore. */
  isProject(folder: string): boolean;
  ignoreRules(folder: string): string | undefined;
  directoryId(folder: string): string | undefined;
  /** Returns the user's file of which `sourceFile` is a staged copy; undefined for another path, or if that file does not exist. */
  original(sourceFile: string): string | undefined;
  /** Returns the paths of staged copies under which the user's file may have been filed. */
  stagedAs(path: string): string[];
}

export { MODE_SEPARATOR } from "../../protocol/filing.ts";

/** A piece of a document. `sending`: id of the transmission. `from`: start of the piece, UTF-16 units. */
export type DocumentPart = { sourceFile: string; sending: string; from: number; text: string; atMs: number };

/** Documents that arrive in parts, until they are filed. A source has one transmission at a time. Concurrency and errors: as LedgerTx. */
export interface PartTx {
  /** Returns the number of UTF-16 units received of this transmission. */
  held(sourceFile: string, sending: string): number;
  put(part: DocumentPart): void;
  text(sourceFile: string): string;
  drop(sourceFile: string): void;
}
