/** Makes the text at the beginning of an agent's session: notes of this project, then of others, but no mined documents. */
import type { Drawer } from "../port/drawer.ts";
import { MINED_KEYS } from "../../protocol/filing.ts";
import { codePointLength, head, strip } from "../text/text.ts";
import { byWeight } from "./wake-up.ts";

/** Maximum number of notes that are read from the ledger for each section of the text. */
export const NOTES_READ_MAX = 400;
const PROJECT_MAX = 12;
const ELSEWHERE_MAX = 5;
const SNIPPET_MAX = 280;
const LENGTH_MAX = 3_000;
const CUT = " …";

export type OwnStory = { project: readonly Drawer[]; others: readonly Drawer[] };

/** Returns the notes as one text, empty without notes. Both lists are in filing order. `clean` masks secrets before a text is cut. */
export function ownStory({ project, others }: OwnStory, clean: (text: string) => string): string {
  const here = selected(project, PROJECT_MAX);
  const elsewhere = selected(others, here.length === 0 ? PROJECT_MAX : ELSEWHERE_MAX);
  const lines: string[] = [];
  let left = LENGTH_MAX;
  const add = (title: string, notes: readonly Drawer[], place: (note: Drawer) => string): void => {
    const kept: string[] = [];
    for (const note of notes) {
      const line = `- [${place(note)}] ${shortened(strip(clean(note.text)).replaceAll(/\s+/gu, " "))}`;
      if (codePointLength(line) > left) break;
      kept.push(line);
      left -= codePointLength(line);
    }
    if (kept.length > 0) lines.push(...(lines.length > 0 ? [""] : []), title, ...kept);
  };
  add("## Known of this project", here, ({ room, metadata }) => withDay(room, metadata));
  add("## Known from elsewhere", elsewhere, ({ wing, room, metadata }) => withDay(`${wing}/${room}`, metadata));
  return lines.join("\n");
}

/** Selects the most important notes, then the newest, but only one of each source and one checkpoint of each wing. */
function selected(notes: readonly Drawer[], most: number): Drawer[] {
  const sources = new Set<string>();
  const first = notes.filter(({ metadata }) => isOwn(metadata) && (metadata["chunk_index"] ?? 0) === 0);
  return byWeight(first)
    .filter((note) => {
      const source = sourceOf(note);
      return source === "" || (!sources.has(source) && sources.add(source));
    })
    .slice(0, most);
}

function isOwn(metadata: Drawer["metadata"]): boolean {
  return MINED_KEYS.every((key) => metadata[key] === undefined);
}

function sourceOf({ wing, metadata }: Drawer): string {
  const { source_file: file, topic } = metadata;
  if (typeof file === "string" && file !== "") return file;
  return topic === "checkpoint" ? `checkpoint of ${wing}` : "";
}

function withDay(place: string, { filed_at: filedAt }: Drawer["metadata"]): string {
  const [day] = /^\d{4}-\d\d-\d\d/.exec(typeof filedAt === "string" ? filedAt : "") ?? [];
  return day === undefined ? place : `${place}, ${day}`;
}

/** Cuts a text between words, or inside a word that is longer than the limit. */
function shortened(text: string): string {
  if (codePointLength(text) <= SNIPPET_MAX) return text;
  const part = head(text, SNIPPET_MAX - CUT.length + 1);
  const at = part.lastIndexOf(" ");
  return `${at > 0 ? part.slice(0, at) : head(text, SNIPPET_MAX - CUT.length)}${CUT}`;
}
