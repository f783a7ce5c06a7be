/** Reads the settings for filing as upstream 3.11 does: the environment wins over config.json. Source: palace.md 3.3. */
import type { Cut, HallKeywords } from "../protocol/filing.ts";
import {
  DRAWER_OVERLAP,
  DRAWER_SIZE,
  DRAWER_SIZE_MAX,
  DRAWER_SIZE_MIN,
  HALL_KEYWORD_LENGTH_MAX,
  HALL_KEYWORDS_MAX,
  LANGUAGES_MAX,
} from "../protocol/limits.ts";
import { type Env, readVariable, type VariableName } from "./env.ts";
import { readUpstreamFile } from "./mempalace-config.ts";

type UpstreamFile = Readonly<Record<string, unknown>>;

/** Languages in which upstream finds names and we do not (name-languages.ts). */
const CHINESE = new Set(["zh-cn", "zh-tw"]);

export type FilingSettings = Readonly<{
  cut: Cut;
  /** Minimum size of a transcript's drawer, characters; undefined: the built-in minimum. */
  transcriptMin: number | undefined;
  /** Keywords of the user's halls. Undefined: MemPalace's own halls. */
  halls: HallKeywords | undefined;
  /** Minimum number of common drawers for a hallway between two names; undefined: the built-in minimum. */
  hallwayMin: number | undefined;
  /** Minimum number of common topics for a tunnel between two wings; undefined: the built-in minimum. */
  topicsMin: number | undefined;
  /** Languages in which to look for names, by upstream's codes; at least one. */
  languages: readonly string[];
  /** One sentence for each setting whose value we did not use as written. */
  ignored: readonly string[];
}>;

/** Reads config.json at each call, so that mining uses current values. */
export function readFiling(env: Env, settingsDir: string): FilingSettings {
  const { values: file, fault } = readUpstreamFile(settingsDir);
  const ignored = fault === undefined ? [] : [fault];
  const cut = readCut(file, ignored);
  return {
    cut,
    transcriptMin: transcriptMin(file, cut),
    halls: readHalls(file["hall_keywords"], ignored),
    hallwayMin: leastCount({ env, file, ignored }, "MEMPALACE_KG_HALLWAY_MIN_COUNT", "hallway_min_count"),
    topicsMin: leastCount({ env, file, ignored }, "MEMPALACE_TOPIC_TUNNEL_MIN_COUNT", "topic_tunnel_min_count"),
    languages: readLanguages(env, file, ignored),
    ignored,
  };
}

/** Reads the sizes of drawers. An overlap of more than half a drawer counts as the default, as in 3.11, because cutting might never end. */
function readCut(file: UpstreamFile, ignored: string[]): Cut {
  const asked = (key: string, usual: number, least: number): number => {
    const value = file[key] === undefined ? usual : wholeNumber(file[key], least);
    if (value === undefined) ignored.push(`${key} is not a whole number of at least ${least}: it is ${usual}`);
    return value ?? usual;
  };
  const [size, overlap, sizeMin] = [
    Math.min(asked("chunk_size", DRAWER_SIZE, 1), DRAWER_SIZE_MAX),
    asked("chunk_overlap", DRAWER_OVERLAP, 0),
    asked("min_chunk_size", DRAWER_SIZE_MIN, 0),
  ];
  const half = Math.floor(size / 2);
  const cut = {
    size,
    overlap: overlap > half ? Math.min(DRAWER_OVERLAP, half) : overlap,
    sizeMin: sizeMin > size ? Math.min(DRAWER_SIZE_MIN, size) : sizeMin,
  };
  const tell = (key: string, is: number, wanted: number, why: string): void => {
    if (file[key] !== undefined && is !== wanted) ignored.push(`${key} is ${is} and not ${wanted}, ${why}`);
  };
  tell("chunk_size", size, wholeNumber(file["chunk_size"], 1) ?? size, "the most there is");
  tell("chunk_overlap", cut.overlap, overlap, "more than half of chunk_size");
  tell("min_chunk_size", cut.sizeMin, sizeMin, "more than chunk_size");
  return cut;
}

function transcriptMin({ min_chunk_size: given }: UpstreamFile, { size }: Cut): number | undefined {
  const value = wholeNumber(given, 0);
  return value === undefined || value > size ? undefined : value;
}

/** Reads the keywords of each hall. A string in place of a list counts as a list of its characters, as in Python. */
function readHalls(given: unknown, ignored: string[]): HallKeywords | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    ignored.push("hall_keywords is not an object of word lists: halls are MemPalace's own");
    return undefined;
  }
  let left = HALL_KEYWORDS_MAX;
  const halls = Object.entries(given).map(([hall, list]): [string, string[]] => {
    const words: unknown[] = typeof list === "string" ? Array.from(list) : Array.isArray(list) ? list : [];
    const usable = words.filter((word) => typeof word === "string" && word.length <= HALL_KEYWORD_LENGTH_MAX);
    const taken = (usable as string[]).slice(0, left);
    left -= taken.length;
    if (taken.length < words.length || (words.length === 0 && !Array.isArray(list)))
      ignored.push(`hall_keywords: ${hall} has entries that are not used: not a text, too long, or too many`);
    return [hall, taken];
  });
  return halls;
}

type Read = { env: Env; file: UpstreamFile; ignored: string[] };

function leastCount({ env, file, ignored }: Read, name: VariableName, key: string): number | undefined {
  const told = readVariable(env, name);
  const value = told === undefined ? undefined : wholeNumber(told, 1);
  if (told !== undefined && value === undefined)
    ignored.push(`${name} is not a whole number of at least 1: it is not used`);
  if (value !== undefined || file[key] === undefined || file[key] === null) return value;
  const given = file[key];
  // A boolean or a number below 1 counts as 1, as in MemPalace.
  const number = typeof given === "boolean" ? Number(given) : wholeNumber(given, -Infinity);
  if (number === undefined) ignored.push(`${key} is not a whole number: it is not used`);
  return number === undefined ? undefined : Math.max(1, number);
}

function readLanguages(env: Env, { entity_languages: listed }: UpstreamFile, ignored: string[]): string[] {
  const told = readVariable(env, "MEMPALACE_ENTITY_LANGUAGES") ?? readVariable(env, "MEMPAL_ENTITY_LANGUAGES");
  const named = told?.split(",").map((code) => code.trim());
  const asked = named?.filter((code) => code !== "") ?? (Array.isArray(listed) ? listed.map(String) : []);
  const languages = asked.length === 0 ? ["en"] : asked;
  const unknown = languages.filter((code) => CHINESE.has(code.trim().toLowerCase()));
  if (unknown.length > 0) ignored.push(`names in ${unknown.join(", ")} are not looked for`);
  return languages.slice(0, LANGUAGES_MAX);
}

/** Parses a whole number as Python's `int()` does: allows underscores between digits and surrounding blanks, and truncates fractions. */
function wholeNumber(value: unknown, least: number): number | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  const isNumeral = /^[+-]?\d+(?:_\d+)*$/.test(text);
  const number = typeof value === "number" ? Math.trunc(value) : isNumeral ? Number(text.replaceAll("_", "")) : NaN;
  return Number.isFinite(number) && number >= least ? number : undefined;
}
