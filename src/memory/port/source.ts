/** The origins of drawers: documents and transcripts, the parts in which they are sent, and the files they name. */
import type { Miner } from "../../protocol/filing.ts";

/** The filing record of one source. `mtime`: seconds since 1970; `sha256`: of the content, hex. */
export type SourceRow = { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };

/** A question for mined sources. `below`: an absolute folder; `after`: the last name of the page before. */
export type MinedQuery = { wing: string; miner: Miner; below: string; after?: string | undefined };

/** Page of mined sources. `last`: the cursor for the next page; undefined on the last page. */
export type MinedPage = { rows: MinedRow[]; last: string | undefined };

/** Values as the adopted drawers have them, from any writer. */
export type MinedRow = { sourceFile: string; mtime: unknown; filedAt: unknown };

/** Drawers of one source that were filed alike. */
export type SourceGroup = {
  sourceFile: string;
  /** Number of the source's folder at filing time, if recorded. */
  directoryId: string | null;
  /** Sentinels of upstream's conversation miner, which hold no text. */
  isRegistry: boolean;
  drawers: number;
  /** The newest row among them: drawers filed since are not covered. */
  lastRow: number;
};

/** Source files as the broker's machine sees them. */
export interface SourceFiles {
  /** Returns `absent` only if the path could be walked and its end does not exist. */
  state(path: string): "file" | "other" | "absent" | "unknown";
  /** Returns the path without links, as far as it exists; undefined where that cannot be determined. */
  resolve(path: string): string | undefined;
  /** Returns true if the folder has a .git or a .gitignore. */
  isProject(folder: string): boolean;
  /** Returns the text of its .gitignore. */
  ignoreRules(folder: string): string | undefined;
  directoryId(folder: string): string | undefined;
  /**
   * Returns the user's file that a staged copy was made from; undefined if `sourceFile` is not a staged copy, or the file does not exist.
   */
  original(sourceFile: string): string | undefined;
  /** Other names under which a user's file may have been filed. */
  stagedAs(path: string): string[];
}

export { MODE_SEPARATOR } from "../../protocol/filing.ts";

/** A piece of a document that is being sent; `from` and its length in characters (UTF-16). */
export type DocumentPart = { sourceFile: string; sending: string; from: number; text: string; atMs: number };

/** Documents that arrive in parts, until they are filed; one sending for each source. Concurrency and errors: as LedgerTx. */
export interface PartTx {
  /** Characters received of this sending. */
  held(sourceFile: string, sending: string): number;
  put(part: DocumentPart): void;
  /** Returns the text of the parts, joined in order. */
  text(sourceFile: string): string;
  drop(sourceFile: string): void;
}
