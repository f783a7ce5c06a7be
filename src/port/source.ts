/** Where drawers come from: documents and transcripts, the parts in which they arrive, and the files they name. */
import type { Miner } from "../protocol/filing.ts";

export type SourceRow = { sourceFile: string; wing: string; mtime: number; sha256: string; drawers: number };

/** `below`: an absolute folder; `after`: the last name of the page before. */
export type MinedQuery = { wing: string; miner: Miner; below: string; after?: string | undefined };

/** `last`: what the next page comes after; undefined: there is none. */
export type MinedPage = { rows: MinedRow[]; last: string | undefined };

/** As drawers that came with the palace have it, whoever wrote them. */
export type MinedRow = { sourceFile: string; mtime: unknown; filedAt: unknown };

/** Drawers of one source that were filed alike. */
export type SourceGroup = {
  sourceFile: string;
  /** Number of the folder the source lay in when it was filed, where that was noted. */
  directoryId: string | null;
  /** Marks of upstream's conversation miner, no text. */
  isRegistry: boolean;
  drawers: number;
  /** The newest row among them: what was filed since is another matter. */
  lastRow: number;
};

/** Source files as the broker's machine sees them. */
export interface SourceFiles {
  /** `absent` only where the way there could be walked and nothing was at its end. */
  state(path: string): "file" | "other" | "absent" | "unknown";
  /** Without links, as far as the path exists; undefined where that cannot be told. */
  resolve(path: string): string | undefined;
  /** It holds a .git or a .gitignore. */
  isProject(folder: string): boolean;
  /** The text of its .gitignore. */
  ignoreRules(folder: string): string | undefined;
  directoryId(folder: string): string | undefined;
  /** The user's file that a staged copy was made from; undefined where `sourceFile` is none, or the file is not there. */
  original(sourceFile: string): string | undefined;
  /** The names a file of the user's may have been filed under, its own not among them. */
  stagedAs(path: string): string[];
}

/** Stands between a transcript's name and the way it was taken apart, in a mark of its own. Nobody's path holds it. */
export const MARK_OF_MODE = "\u001f";

/** A piece of a document that is being sent; `from` and its length in characters (UTF-16). */
export type DocumentPart = { sourceFile: string; sending: string; from: number; text: string; atMs: number };

/** Documents that come in parts, until they are filed; one sending a source. Concurrency and errors: as LedgerTx. */
export interface PartTx {
  /** Characters that are there of this sending. */
  held(sourceFile: string, sending: string): number;
  put(part: DocumentPart): void;
  /** In their order, joined. */
  text(sourceFile: string): string;
  drop(sourceFile: string): void;
}
