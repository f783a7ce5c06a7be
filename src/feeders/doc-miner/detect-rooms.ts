/** Proposes rooms from names of folders and files, and writes them into mempalace.yaml, as `mempalace init` does (palace.md 5.8). */
import { join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { readFolder } from "../../base/read-folder.ts";
import { words } from "../words.ts";
import { wingOfFolder } from "../../base/project-names.ts";
import { checkName } from "./project.ts";
import { ROOM_OF_FOLDER } from "./room.ts";
import { orElse } from "../../base/or-else.ts";

export type ProposedRoom = { name: string; description: string; keywords: string[] };

const SKIPPED = new Set(words(".git node_modules __pycache__ .venv venv env dist build .next coverage"));
const GENERAL = "general";
/** Minimum number of files whose names suggest a room. Names of files count only if no folder suggests a room. */
const FILES_MIN = 2;
const ROOMS_MAX = 6;
const NAMES_MAX = 100_000;

export type Proposal = { wing: string; rooms: ProposedRoom[]; source: "folder structure" | "filename patterns" };

export function proposeRooms(root: string): Proposal {
  const wing = wingOfFolder(root);
  const rooms = fromFolders(root);
  if (rooms.length > 0)
    return {
      wing,
      source: "folder structure",
      rooms: [...rooms.filter(({ name }) => name !== GENERAL), general("Files that don't fit other rooms")],
    };
  const named = fromNames(root);
  return { wing, source: "filename patterns", rooms: named.length > 0 ? named : [general("All project files")] };
}

export async function writeProject(root: string, { wing, rooms }: Proposal): Promise<void> {
  const { stringify } = await import("yaml");
  writeFileAtomic(join(root, "mempalace.yaml"), stringify({ wing, rooms }), 0o644);
}

function general(description: string): ProposedRoom {
  return { name: GENERAL, description, keywords: [] };
}

function fromFolders(root: string): ProposedRoom[] {
  const found = new Map<string, string>();
  const add = (room: string, folder: string): void => {
    if (isUsable(room) && !found.has(room)) found.set(room, folder);
  };
  const top = foldersIn(root);
  for (const folder of top) {
    const room = roomOf(folder);
    if (room !== undefined) add(room, folder);
    else if (/^\p{L}/u.test(folder) && Array.from(folder).length > 2)
      add(folder.toLowerCase().replaceAll(/[- ]/g, "_"), folder);
  }
  for (const folder of top)
    for (const inner of foldersIn(join(root, folder))) {
      const room = roomOf(inner);
      if (room !== undefined) add(room, inner);
    }
  return [...found].map(([name, folder]) => ({
    name,
    description: `Files from ${folder}/`,
    keywords: [...new Set([name, folder.toLowerCase()])],
  }));
}

function fromNames(root: string): ProposedRoom[] {
  const counts = new Map<string, number>();
  let seen = 0;
  const walk = (folder: string): void => {
    for (const entry of readFolder(folder) ?? []) {
      if (++seen > NAMES_MAX) return;
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) walk(join(folder, entry.name));
      if (!entry.isFile()) continue;
      const name = entry.name.toLowerCase().replaceAll(/[- ]/g, "_");
      for (const [word, room] of ROOM_OF_FOLDER) if (name.includes(word)) counts.set(room, (counts.get(room) ?? 0) + 1);
    }
  };
  walk(root);
  return [...counts]
    .filter(([, count]) => count >= FILES_MIN)
    .sort(([, a], [, b]) => b - a)
    .slice(0, ROOMS_MAX)
    .map(([name]) => ({ name, description: `Files related to ${name}`, keywords: [name] }));
}

function roomOf(folder: string): string | undefined {
  return ROOM_OF_FOLDER.get(folder.toLowerCase().replaceAll("-", "_"));
}

/** Returns true if the document miner accepts the room's name in a project file. */
function isUsable(room: string): boolean {
  return orElse(() => checkName(room, "room") === room, false);
}

function foldersIn(folder: string): string[] {
  return (readFolder(folder) ?? []).flatMap((entry) =>
    entry.isDirectory() && !SKIPPED.has(entry.name) ? entry.name : [],
  );
}
