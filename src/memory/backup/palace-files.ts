/** Names of the files that a restore may move. A restore refuses a list of moves with any other name. */
import { basename, join } from "node:path";
import { EVENTS, LEDGER, SETTINGS_FILES, TOKENS } from "./contents.ts";
import { namesIn } from "../../base/read-folder.ts";

export type SwapPaths = {
  home: string;
  palaceDir: string;
  ledgerFile: string;
  graphFile: string;
  tunnelsFile: string;
  hallwaysFile: string;
};

export type Place = "home" | "palace";
export type Entry = { place: Place; name: string };

const SQLITE = ["", "-wal", "-shm", "-journal"];
/** Matches the files that MemPalace and we keep in a palace's folder. All other files there belong to other programs. */
const PALACE_ENTRY =
  /^(?:chroma\.sqlite3|logstream\.sqlite3)(?:-wal|-shm|-journal)?$|^(?:replica|mempalace_embedder)\.json$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const EVENTS_ENTRY = /^logstream\.sqlite3(?:-wal|-shm|-journal)?$|^replica\.json$/;

export function folderOf({ home, palaceDir }: SwapPaths, place: Place): string {
  return place === "home" ? home : palaceDir;
}

/** Returns true for a file of this palace in its home or its folder. False for a graph file elsewhere, which other palaces may use. */
export function isOwn(paths: SwapPaths, { place, name }: Entry): boolean {
  const { ledgerFile, graphFile, tunnelsFile, hallwaysFile } = paths;
  const databases = [ledgerFile, graphFile].flatMap((file) => SQLITE.map((suffix) => `${file}${suffix}`));
  const files = [...databases, tunnelsFile, hallwaysFile];
  const path = join(folderOf(paths, place), name);
  const isName = name === basename(name) && name !== "" && name !== "..";
  return isName && (files.includes(path) || (place === "palace" && PALACE_ENTRY.test(name)));
}

/** Lists the existing files of the palace. `isElsewhere`: true if a server has the public palace, whose files we do not move. */
export function ownEntries(paths: SwapPaths, isElsewhere: boolean): Entry[] {
  const { home, palaceDir } = paths;
  const own = (place: Place): Entry[] =>
    namesIn(folderOf(paths, place))
      .map((name) => ({ place, name }))
      .filter((entry) => isOwn(paths, entry));
  const inPalace = own("palace").filter(
    ({ name }) => !isElsewhere || EVENTS_ENTRY.test(name) || !PALACE_ENTRY.test(name),
  );
  return palaceDir === home ? inPalace : [...own("home"), ...inPalace];
}

/** Returns the path to which a backup's file is restored; undefined for a file that is not restored. */
export function targetOf({ home, palaceDir, ledgerFile }: SwapPaths, name: string): string | undefined {
  if (name === LEDGER) return ledgerFile;
  if (name === EVENTS) return join(palaceDir, EVENTS);
  return name === TOKENS || (SETTINGS_FILES as readonly string[]).includes(name) ? join(home, name) : undefined;
}
