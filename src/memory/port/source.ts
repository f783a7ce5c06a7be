/** Types for the origins of drawers: documents and transcripts, the parts in which they are sent, and the files that they name. */
import type { Miner } from "../../protocol/filing.ts";

/** The filing record of one source. `mtime`: Unix time, s; `sha256`: digest of the content, hex. */
export type SourceRow = { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };

/** Query for mined sources. `below`: an absolute folder; `after`: the last name of the page before. */
export type MinedQuery = { wing: string; miner: Miner; below: string; after?: string | undefined };

/** Page of mined sources. `last`: the cursor for the next page; undefined on the last page. */
export type MinedPage = { rows: MinedRow[]; last: string | undefined };

/** A mined source, with the values that its adopted drawers have. Any program may have written them. */
export type MinedRow = { sourceFile: string; mtime: unknown; filedAt: unknown };

/** Drawers of one source that were filed in the same way. */
export type SourceGroup = {
  sourceFile: string;
  /** Inode number of the source's folder at filing time, if recorded. */
  directoryId: string | null;
  /** True for rows without a text by which upstream's conversation miner marks a file as mined. */
  isRegistry: boolean;
  drawers: number;
  /** Row of the newest drawer in the group. Drawers that are filed later do not belong to the group. */
  lastRow: number;
};

/** The source files on the broker's machine. */
export interface SourceFiles {
  /** Returns `absent` only if the folders of the path can be read and the file does not exist. */
  state(path: string): "file" | "other" | "absent" | "unknown";
  /** Returns the path with links resolved, as far as the path exists; undefined if that cannot be determined. */
  resolve(path: string): string | undefined;
  /** Returns true if the folder has a .git or a .gitignore. */
  isProject(folder: string): boolean;
  /** Returns the text of the folder's .gitignore. */
  ignoreRules(folder: string): string | undefined;
  directoryId(folder: string): string | undefined;
  /**
   * Returns the user's file from which a staged copy was made; undefined if `sourceFile` is not a staged copy, or the file does not exist.
   */
  original(sourceFile: string): string | undefined;
  /** Returns the paths of the staged copies under which a user's file may have been filed. */
  stagedAs(path: string): string[];
}

export { MODE_SEPARATOR } from "../../protocol/filing.ts";

/** A piece of a document. `sending`: id of the transmission. `from`: start of the piece, in UTF-16 characters. */
export type DocumentPart = { sourceFile: string; sending: string; from: number; text: string; atMs: number };

/** Documents that arrive in parts, until they are filed. A source has one transmission at a time. Concurrency and errors: as LedgerTx. */
export interface PartTx {
  /** Returns the number of characters received of this transmission. */
  held(sourceFile: string, sending: string): number;
  put(part: DocumentPart): void;
  /** Returns the text of the parts, joined in order. */
  text(sourceFile: string): string;
  drop(sourceFile: string): void;
}
