/** Finds the wing, room or source that a filter means, also in another spelling. Writes do not use this: they need exact names. */
import { nearWords } from "../../base/nearest.ts";
import { cut } from "../../base/shorten.ts";
import type { PlaceFilter } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { nameOfSource, type SourceNames } from "../drawer/originals.ts";
import { baseName } from "../text/text.ts";

const NAMED_MAX = 5;
/** Maximum number of sources that are compared with the given name. */
const SOURCES_MAX = 100;
/** Minimum length of a name that is searched for inside other names, for the hint. A shorter name is in too many names. */
const PART_MIN = 3;

/** Result of a lookup. `name`: undefined if no name or several match; `near` then lists candidates. `hint`: undefined for an exact name. */
export type Found = { name?: string; hint?: string; near?: readonly string[] };

/** A filter with the palace's own names. `isMissed`: true if a name is unknown or ambiguous, so nothing can be found. */
export type Resolved<Filter> = { filter: Filter; hints: string[]; isMissed: boolean };

type Key = (name: string) => string;

/** Rules for finding a name. `keys`: forms in which names are compared, the strictest first. `matches` compares two such forms. */
type Rules = { keys: readonly Key[]; matches: (name: string, asked: string) => boolean; near: Key };

const lower: Key = (name) => name.normalize("NFC").toLowerCase();
const loose: Key = (name) => lower(name).replace(/[^\p{L}\p{N}]+/gu, "_");
const withoutPrefix: Key = (name) => loose(name).replace(/^wing_/, "");
const path: Key = (name) => name.replaceAll("\\", "/").replace(/^(?:\.\/)+/, "");
const loosePath: Key = (name) => lower(path(name)).replace(/[\s_-]/g, "_");

const equal = (name: string, asked: string): boolean => name === asked;
const ROOM: Rules = { keys: [lower, loose], matches: equal, near: loose };
const WING: Rules = { ...ROOM, keys: [...ROOM.keys, withoutPrefix] };
const SOURCE: Rules = {
  keys: [path, (name) => lower(path(name)), loosePath],
  matches: (name, asked) => name === asked || name.endsWith(asked.startsWith("/") ? asked : `/${asked}`),
  near: (name) => loosePath(baseName(name)),
};

export function findWing(asked: string, wings: readonly string[]): Found {
  return find("wing", WING, asked, wings);
}

export function findRoom(asked: string, rooms: readonly string[], wing?: string): Found {
  return find("room", ROOM, asked, rooms, wing === undefined ? "" : ` in wing ${quoted(wing)}`);
}

/** Returns the wings with one of the names in any spelling, also with the prefix `wing_` of a diary. */
export function wingsNamed(names: readonly string[], wings: readonly string[]): string[] {
  const wanted = new Set(names.map(withoutPrefix).filter((name) => /[^_]/.test(name)));
  return wings.filter((wing) => wanted.has(withoutPrefix(wing)));
}

export function resolvePlace(
  reader: Pick<LedgerReader, "holds" | "places">,
  asked: PlaceFilter,
): Resolved<PlaceFilter> {
  const isAnywhere = asked.wing === undefined && asked.room === undefined;
  if (isAnywhere || reader.holds(asked)) return { filter: asked, hints: [], isMissed: false };
  const places = reader.places();
  const wing = asked.wing === undefined ? {} : findWing(asked.wing, distinct(places.map((place) => place.wing)));
  if (asked.room === undefined) return resolved(asked, { wing });
  const isHere = (place: { wing: string }): boolean => asked.wing === undefined || place.wing === wing.name;
  const rooms = distinct(places.filter(isHere).map((place) => place.room));
  // An unknown wing has no rooms, so only the wing gets a hint.
  return resolved(asked, rooms.length === 0 ? { wing } : { wing, room: findRoom(asked.room, rooms, wing.name) });
}

/** Resolves a source. The user may also name the file of which the source is a staged copy. */
export function resolveSource(
  { reader, files }: { reader: Pick<LedgerReader, "listDrawers" | "sourcesLike">; files?: SourceNames },
  asked: string,
  place: PlaceFilter,
): Resolved<{ sourceFile: string }> {
  const isThere = (sourceFile: string): boolean => reader.listDrawers({ sourceFile }, 1, 0).total > 0;
  const exact = nameOfSource(asked, files?.stagedAs(asked) ?? [], isThere);
  if (isThere(exact)) return { filter: { sourceFile: exact }, hints: [], isMissed: false };
  const names = reader.sourcesLike(path(asked), place, SOURCES_MAX);
  // The user sees all staged copies of one file under the same name, so one of them is enough.
  const copies = new Map(names.toReversed().map((name) => [files?.original(name) ?? name, name]));
  const found = find("source_file", SOURCE, asked, [...copies.keys()].toReversed());
  const { name } = found;
  const sourceFile = name === undefined ? {} : { name: copies.get(name) ?? name };
  return resolved({ sourceFile: asked }, { sourceFile: { ...found, ...sourceFile } });
}

function resolved<Filter extends object>(asked: Filter, found: Record<string, Found>): Resolved<Filter> {
  const names = Object.entries(found).flatMap(([field, { name }]) => (name === undefined ? [] : [[field, name]]));
  const all = Object.values(found);
  return {
    filter: { ...asked, ...Object.fromEntries(names) },
    hints: all.flatMap(({ hint }) => hint ?? []),
    isMissed: all.some(({ name, hint }) => name === undefined && hint !== undefined),
  };
}

function find(
  kind: string,
  { keys, matches, near: nearKey }: Rules,
  asked: string,
  names: readonly string[],
  where = "",
): Found {
  if (names.includes(asked)) return { name: asked };
  for (const key of keys) {
    const wanted = key(asked);
    const [only, ...others] = wanted === "" ? [] : names.filter((name) => matches(key(name), wanted));
    if (only === undefined) continue;
    const near = [only, ...others];
    if (others.length > 0) return { hint: `${kind} ${quoted(asked)}${where} could be ${listed(near)}`, near };
    return { name: only, hint: `searched in ${kind} ${quoted(only)}: there is no ${kind} ${quoted(asked)}${where}` };
  }
  const like = namesLike(nearKey(asked), names, nearKey);
  const nearest = like.length === 0 ? `, and no ${kind} like it` : `; ${kind}s like it: ${listed(like)}`;
  return { hint: `no ${kind} ${quoted(asked)}${where}${nearest}`, near: like };
}

/** Returns the names that are spelled nearly like the given name, then the names that contain it. */
function namesLike(wanted: string, names: readonly string[], key: Key): string[] {
  const byKey = Map.groupBy(names, key);
  const keys = [...byKey.keys()];
  const isPart = (one: string, other: string): boolean => one.length >= PART_MIN && other.includes(one);
  const parts = keys.filter((one) => isPart(wanted, one) || isPart(one, wanted));
  return distinct([...nearWords(wanted, keys), ...parts]).flatMap((one) => byKey.get(one) ?? []);
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).map(quoted).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function quoted(name: string): string {
  return `\`${cut(name)}\``;
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}
