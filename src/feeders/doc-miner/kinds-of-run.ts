/** The three kinds of run of the document miner: `docs`, `projects` and `formats`. */
import { judgeFormat } from "../format-miner/kinds.ts";
import { folderRefusal, judgeName, type Verdict } from "./document-names.ts";
import { refuseText } from "./no-document.ts";
import { judgeReadable, skippedFolder } from "./readable.ts";

export type Front = {
  name: "docs" | "projects" | "formats";
  judge: (name: string) => Verdict;
  /** Returns the reason if the folder is never entered. `entries`: names in the folder. */
  refuseFolder: (name: string, entries: readonly string[]) => string | undefined;
  /** Returns the reason if the text is not filed. */
  refuseText: (name: string, text: string) => string | undefined;
  /** True if a document is filed from a copy in the cache, because the copy's path is the same in every home directory. */
  isStaged: boolean;
  /** True if a run removes vanished documents from the palace. In upstream, only `sync` removes them. */
  removes: boolean;
};

/** Files a project's documentation, from copies that have the same path on every machine. */
export const DOCS: Front = {
  name: "docs",
  judge: judgeName,
  refuseFolder: folderRefusal,
  refuseText,
  isStaged: true,
  removes: true,
};

/** Files source code, too, under the files' own paths, as upstream's `mempalace mine DIR` does. */
export const PROJECTS: Front = {
  name: "projects",
  judge: judgeReadable,
  refuseFolder: skippedFolder,
  refuseText: () => undefined,
  isStaged: false,
  removes: false,
};

/** Converts and files office documents, as upstream's mode `extract` does. */
export const FORMATS: Front = { ...PROJECTS, name: "formats", judge: judgeFormat };
