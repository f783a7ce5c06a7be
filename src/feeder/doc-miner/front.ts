/**
 * The three fronts of this miner. `docs` takes what documents a project, from copies that are the same on every machine;
 * `projects` is upstream's `mempalace mine DIR`: source code too, filed under the paths the files have; `formats` its mode
 * `extract`: office documents, converted. Everything behind the choice of files is one engine. Used by the files beside this one and by the command line.
 */
import { judgeFormat } from "../format-miner/kinds.ts";
import { folderRefusal, judgeName, type Verdict } from "./allow.ts";
import { refuseText } from "./no-document.ts";
import { judgeReadable, skippedFolder } from "./readable.ts";

export type Front = {
  name: "docs" | "projects" | "formats";
  judge: (name: string) => Verdict;
  /** Why a folder is never entered, or undefined; `entries` are the names in it. */
  refuseFolder: (name: string, entries: readonly string[]) => string | undefined;
  /** Why a document is not filed for what stands in it, or undefined. */
  refuseText: (name: string, text: string) => string | undefined;
  /** Filed from a copy under the cache, whose path is the same for every home. */
  isStaged: boolean;
  /** What vanished is removed from the palace; upstream leaves that to `sync`. */
  removes: boolean;
};

export const DOCS: Front = {
  name: "docs",
  judge: judgeName,
  refuseFolder: folderRefusal,
  refuseText,
  isStaged: true,
  removes: true,
};

export const PROJECTS: Front = {
  name: "projects",
  judge: judgeReadable,
  refuseFolder: skippedFolder,
  refuseText: () => undefined,
  isStaged: false,
  removes: false,
};

export const FORMATS: Front = {
  name: "formats",
  judge: judgeFormat,
  refuseFolder: skippedFolder,
  refuseText: () => undefined,
  isStaged: false,
  removes: false,
};
