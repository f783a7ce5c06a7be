/** Which names of which folders a restore may touch: the planner takes nothing else, and a list that names anything else is refused. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { EVENTS, LEDGER, SETTINGS_FILES, TOKENS } from "./manifest.ts";

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
/** What MemPalace and we have in a palace's folder. Whatever else lies there is somebody else's. */
const PALACE_ENTRY =
  /^(?:chroma\.sqlite3|logstream\.sqlite3)(?:-wal|-shm|-journal)?$|^(?:replica|mempalace_embedder)\.json$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const EVENTS_ENTRY = /^logstream\.sqlite3(?:-wal|-shm|-journal)?$|^replica\.json$/;

export function folderOf({ home, palaceDir }: SwapPaths, place: Place): string {
  return place === "home" ? home : palaceDir;
}

/** Whether that name in that folder is the palace's own. A graph, or links, in a third folder are another palace's as well. */
export function isOwn(paths: SwapPaths, { place, name }: Entry): boolean {
  const { ledgerFile, graphFile, tunnelsFile, hallwaysFile } = paths;
  const databases = [ledgerFile, graphFile].flatMap((file) => SQLITE.map((suffix) => `${file}${suffix}`));
  const files = [...databases, tunnelsFile, hallwaysFile];
  const path = join(folderOf(paths, place), name);
  const isName = name === basename(name) && name !== "" && name !== "..";
  return isName && (files.includes(path) || (place === "palace" && PALACE_ENTRY.test(name)));
}

/** What of the palace is there. `isElsewhere`: the public palace is a server's, whose files are not ours to move. */
export function ownEntries(paths: SwapPaths, isElsewhere: boolean): Entry[] {
  const { home, palaceDir } = paths;
  const own = (place: Place): Entry[] =>
    entriesOf(folderOf(paths, place))
      .map((name) => ({ place, name }))
      .filter((entry) => isOwn(paths, entry));
  const inPalace = own("palace").filter(
    ({ name }) => !isElsewhere || EVENTS_ENTRY.test(name) || !PALACE_ENTRY.test(name),
  );
  // Where both are one folder, it is listed once.
  return palaceDir === home ? inPalace : [...own("home"), ...inPalace];
}

/** Where a file of a backup goes; undefined where it is not put anywhere. */
export function targetOf({ home, palaceDir, ledgerFile }: SwapPaths, name: string): string | undefined {
  if (name === LEDGER) return ledgerFile;
  if (name === EVENTS) return join(palaceDir, EVENTS);
  return name === TOKENS || (SETTINGS_FILES as readonly string[]).includes(name) ? join(home, name) : undefined;
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
