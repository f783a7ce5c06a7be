/** Decides the room of a document. Source: palace.md 5.2 (rooms of a project) and 5.8 (rooms by names of folders). */
import { head, strip } from "../../memory/text/text.ts";

export type Room = { name: string; keywords: readonly string[] };
export type Placement = { room: string; why: string };

const GENERAL = "general";
/** Maximum number of characters to search for keywords. */
const SAMPLE_MAX = 2000;

const FOLDER_ROOMS: Record<string, string> = {
  frontend: "frontend front_end client ui views components pages",
  backend: "backend back_end server api routes services controllers models database db",
  documentation: "docs doc documentation wiki readme notes",
  design: "design designs mockups wireframes assets storyboard",
  costs: "costs cost budget finance financial pricing invoices accounting",
  meetings: "meetings meeting calls meeting_notes standup minutes",
  team: "team staff hr hiring employees people",
  research: "research references reading papers",
  planning: "planning roadmap strategy specs requirements",
  testing: "tests test testing qa",
  scripts: "scripts tools utils",
  configuration: "config configs settings infrastructure infra deploy",
};
/** Room for each folder name, in lower case with underscores. */
export const ROOM_OF_FOLDER: ReadonlyMap<string, string> = new Map(
  Object.entries(FOLDER_ROOMS).flatMap(([room, names]) => names.split(" ").map((name) => [name, room] as const)),
);

/** `path` is relative to the project, with `/`. Without `rooms` (no project file), the first folder decides. */
export function placeDocument(path: string, content: string, rooms: readonly Room[] | undefined): Placement {
  const folders = path.split("/");
  const name = folders.pop() ?? "";
  if (rooms === undefined) return placeByFolder(folders[0]);

  for (const folder of folders) {
    const room = rooms.find((one) => [one.name, ...one.keywords].some((word) => isMatch(folder, word)));
    if (room !== undefined) return { room: room.name, why: `folder ${folder} matches the room` };
  }
  const stem = stemOf(name);
  const named = rooms.find((one) => isMatch(stem, one.name));
  if (named !== undefined) return { room: named.name, why: `file name ${stem} matches the room` };
  return placeByWords(content, rooms);
}

function placeByFolder(folder: string | undefined): Placement {
  const room = folder === undefined ? undefined : ROOM_OF_FOLDER.get(folder.toLowerCase().replaceAll("-", "_"));
  if (room !== undefined) return { room, why: `folder ${folder ?? ""} means ${room}` };
  return { room: GENERAL, why: "no project file, and the first folder has no room of its own" };
}

function placeByWords(content: string, rooms: readonly Room[]): Placement {
  const sample = head(strip(content), SAMPLE_MAX).toLowerCase();
  let best: { room: Room; score: number } | undefined;
  for (const room of rooms) {
    const score = [...room.keywords, room.name].reduce((sum, word) => sum + occurrences(sample, word.toLowerCase()), 0);
    if (score > (best?.score ?? 0)) best = { room, score };
  }
  if (best === undefined) return { room: GENERAL, why: "no folder, name or word matches a room" };
  return { room: best.room.name, why: `${best.score} of the room's words in the text` };
}

/** Returns true for equal names, or if one is a part of the other between `-`, `_`, `.` or `/`. Ignores case. */
function isMatch(left: string, right: string): boolean {
  const [a, b] = [left.toLowerCase(), right.toLowerCase()];
  return a === b || (a !== "" && b.split(/[-_./]/).includes(a)) || (b !== "" && a.split(/[-_./]/).includes(b));
}

function occurrences(text: string, word: string): number {
  return word === "" ? 0 : text.split(word).length - 1;
}

/** Removes the last extension; `.profile` has none. */
export function stemOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}
