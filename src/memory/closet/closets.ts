/** Builds closets as upstream does (palace.md 4.8): each line has a topic or quote of a source, names, and ids of the source's drawers. */
import type { NewCloset } from "../port/closet.ts";
import type { Metadata } from "../port/drawer.ts";
import { hash24 } from "../drawer/drawer-id.ts";
import { codePointLength, head, pathStem, SPACES, strip } from "../text/text.ts";
import { nameTags, nameWords, type Tagging } from "./name-words.ts";

const WINDOW = 5_000;
const CLOSET_MAX = 1_500;
const TOPICS_MAX = 12;
const QUOTES_MAX = 3;
const NAMES_MAX = 5;
const POINTERS_MAX = 3;
const STEM_MAX = 40;
const NORMALIZE_VERSION = 2;

/** Characters that `\w` matches in Python. */
const WORD = String.raw`\p{L}\p{N}_`;

const VERBS =
  "built|fixed|wrote|added|pushed|tested|created|decided|migrated|reviewed|deployed|configured|removed|updated";
/** Matches a topic: a verb and 3 to 40 characters. Ignores case as Python does, so `i` also matches the Turkish ı and İ. */
const TOPIC = new RegExp(`(?:${VERBS.replaceAll("i", "[iıİ]")})[${SPACES}]+[${WORD}${SPACES}]{3,40}`, "giu");
/** Matches a Markdown heading. Only LF ends a line, as in Python. */
const HEADING = new RegExp(`(?<![^\\n])#{1,3}[${SPACES}]+([^\\n]{5,60})(?![^\\n])`, "gu");
const QUOTE = /"([^"]{15,150})"/gu;

/** Source to be filed: its whole text, and its drawers in the order of their chunks. */
export type ClosetSource = Tagging & {
  sourceFile: string;
  wing: string;
  room: string;
  content: string;
  drawers: readonly { id: string; metadata: Metadata }[];
  /** The filing time in upstream's form. */
  filedAt: string;
};

export function buildClosets(source: ClosetSource): NewCloset[] {
  const { sourceFile, wing, room, content, drawers, filedAt } = source;
  if (drawers.length === 0) return [];
  const entities = nameTags(content, source);
  const metadata: Metadata = {
    wing,
    room,
    source_file: sourceFile,
    drawer_count: drawers.length,
    filed_at: filedAt,
    normalize_version: NORMALIZE_VERSION,
    ...(entities !== "" && { entities }),
  };
  const base = `closet_${wing}_${room}_${hash24(sourceFile)}`;
  return packLines(closetLines(source)).map((text, index) => ({
    id: `${base}_${String(index + 1).padStart(2, "0")}`,
    text,
    metadata,
  }));
}

/** Builds a source's lines, at least one. Each is a topic or quote: `topic|names|→ids`, or with `date:Lfirst-Llast` before the ids. */
export function closetLines(source: ClosetSource): string[] {
  const { sourceFile, wing, room, content, drawers } = source;
  const window = head(content, WINDOW);
  const names = nameWords(window, source)
    .sort(([, a], [, b]) => b - a)
    .slice(0, NAMES_MAX)
    .map(([name]) => name)
    .join(";");
  const pointers = drawers.slice(0, POINTERS_MAX).map(({ id }) => id);
  const place = locator(drawers[0]?.metadata);
  const line = (topic: string): string =>
    [topic, names, ...(place === undefined ? [] : [place]), `→${pointers.join(",")}`].join("|");
  const topics = [
    ...[...window.matchAll(TOPIC)].map(([topic]) => topic),
    ...[...window.matchAll(HEADING)].map(([, heading = ""]) => strip(heading)),
  ].map((topic) => strip(topic).toLowerCase());
  const quotes = [...window.matchAll(QUOTE)].map(([quote]) => quote);
  const labels = [...[...new Set(topics)].slice(0, TOPICS_MAX), ...quotes.slice(0, QUOTES_MAX)];
  if (labels.length === 0) labels.push(`${wing}/${room}/${head(pathStem(sourceFile), STEM_MAX)}`);
  return labels.map(line);
}

/** Packs whole lines into closets. A line that is longer than a closet gets a closet of its own. */
function packLines(lines: readonly string[]): string[] {
  const closets: string[][] = [];
  let length = 0;
  for (const line of lines) {
    const added = codePointLength(line) + 1;
    const last = closets.at(-1);
    if (last === undefined || length + added > CLOSET_MAX) {
      closets.push([line]);
      length = added;
    } else {
      last.push(line);
      length += added;
    }
  }
  return closets.map((closet) => closet.join("\n"));
}

/** Returns the date and the lines of a source's first drawer, as closet lines show them; undefined if the metadata do not have them. */
function locator(metadata: Metadata | undefined): string | undefined {
  const { line_start: first, line_end: last, content_date: dated, filed_at: filedAt } = metadata ?? {};
  if (first === undefined || last === undefined) return undefined;
  const date = dated ? String(dated) : String(filedAt || "").split("T")[0];
  return date ? `${date}:L${first}-L${last}` : undefined;
}
