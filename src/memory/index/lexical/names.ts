/** Searches the names of drawers: their source's file and folders, their wing and room. It reads new commits before each question. */
import type { Database } from "better-sqlite3";
import { MODE_SEPARATOR } from "../../port/source.ts";
import { inverseFrequency } from "./bm25.ts";
import { sum } from "./fts-table.ts";
import { stem } from "./stem.ts";
import { termCounter, wordForms } from "./tokens.ts";

/** The names of a drawer; `sourceFile` is "" for a drawer without a source. */
export type Named = { sourceFile: string; wing: string; room: string };
type NameKey = { sourceFile: string } | { wing: string; room: string };

/** Minimum share of the question's words, by their weights, that a name must contain to count. */
const SHARE_MIN = 0.15;
/** Maximum number of names whose drawers become candidates. */
const NAMES_MAX = 20;
/** Maximum number of candidates from all names. */
const ROWS_MAX = 50;
/** Maximum number of rows of one name that are compared with the filter. */
const READ_MAX = 1_000;
/** Matches the position before a capital inside a word: `maxRetries`, `HTMLParser`. */
const INNER_CAPITAL = /[\p{Ll}\p{N}](?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu;

const DIGEST = /^[a-z]+:[0-9a-f]{16,}$/;

/** Returns a name, then the same name cut at inner capitals: `myFile my File`. */
function spread(name: string): string {
  return `${name} ${name.replace(INNER_CAPITAL, "$& ")}`.normalize("NFC");
}

/** Returns a function that gives the stems in a name. It caches words and folders, which many names share. */
function stemmer(): (name: string) => Set<string> {
  const stems = new Map<string, string>();
  const folders = new Map<string, string[]>();
  const stemOf = (word: string): string => {
    const known = stems.get(word) ?? stem(word);
    stems.set(word, known);
    return known;
  };
  const read = (part: string): string[] => wordForms(spread(part)).map(stemOf);
  return (name) => {
    const end = name.lastIndexOf("/") + 1;
    const folder = name.slice(0, end);
    const above = folders.get(folder) ?? read(folder);
    folders.set(folder, above);
    return new Set([...above, ...read(name.slice(end))]);
  };
}

/** Returns the key of a file's name in the map of stems. A key begins with a slash, and a stem does not. */
function fileKey(path: string): string {
  return path.slice(path.lastIndexOf("/"));
}

/** Returns the path in lower case and in NFC. macOS writes names in NFD. */
function pathKey(path: string): string {
  return `/${path.toLowerCase().normalize("NFC")}`;
}

export class NameIndex {
  readonly #statements;
  /** Maps a stem, or the key of a file's name, to the names that contain it: positions in `#names`. */
  readonly #holding = new Map<string, number[]>();
  readonly #names: NameKey[] = [];
  readonly #known = new Set<string>();
  #version: unknown;
  #sourcesTo = 0;

  constructor(ledger: Database) {
    const sql = <Bound extends unknown[], Row>(text: string) => ledger.prepare<Bound, Row>(text);
    // A new source is only in `source_dirty` until maintenance gives it a row in `source`.
    const waiting = "FROM source_dirty d WHERE NOT EXISTS (SELECT 1 FROM source s WHERE s.source_file = d.source_file)";
    this.#statements = {
      version: sql<[], number>("PRAGMA data_version").pluck(),
      count: sql<[], number>(
        `SELECT (SELECT count(*) FROM place) + (SELECT count(*) FROM source) + (SELECT count(*) ${waiting})`,
      ).pluck(),
      places: sql<[], { wing: string; room: string }>("SELECT wing, room FROM place"),
      sources: sql<[number], { row: number; sourceFile: string }>(
        "SELECT row, source_file AS sourceFile FROM source WHERE row > ? ORDER BY row",
      ),
      waiting: sql<[], string>(`SELECT d.source_file ${waiting}`).pluck(),
      rowsOfSource: sql<[string], number>(
        `SELECT row FROM drawer WHERE source_file = ? AND source_file <> '' ORDER BY row LIMIT ${READ_MAX}`,
      ).pluck(),
      rowsOfPlace: sql<[string, string], number>(
        `SELECT row FROM drawer WHERE wing = ? AND room = ? ORDER BY row DESC LIMIT ${READ_MAX}`,
      ).pluck(),
    };
  }

  /** Returns true if a name has one of the stems. */
  has(stems: readonly string[]): boolean {
    this.#refresh();
    return this.#namesWith(stems).length > 0;
  }

  /** Returns the weight of each term for `nameCounter`: lower for a term in many names, and 0 for a term in no name. */
  tellingWeights(stems: readonly (readonly string[])[], weights: readonly number[]): number[] {
    this.#refresh();
    return stems.map((forms, at) => {
      const holding = this.#namesWith(forms).length;
      return holding === 0 ? 0 : (weights[at] ?? 0) * this.#rarity(holding);
    });
  }

  /** Returns the files whose path ends with an identifier, ignoring case. The map's value is 1 for the only match, less for one of many. */
  filesOf(identifiers: readonly string[]): Map<string, number> {
    this.#refresh();
    const files = new Map<string, number>();
    for (const identifier of identifiers) {
      const end = pathKey(identifier);
      const named = (this.#holding.get(fileKey(end)) ?? []).flatMap((at) => {
        const name = this.#names[at] as NameKey;
        return "sourceFile" in name && pathKey(name.sourceFile).endsWith(end) ? [name.sourceFile] : [];
      });
      for (const file of named) files.set(file, Math.max(files.get(file) ?? 0, this.#rarity(named.length)));
    }
    return files;
  }

  /** Returns 1 for a word or file that only one name has, and nearly 0 if all names have it. */
  #rarity(holding: number): number {
    const names = Math.max(1, this.#names.length);
    return inverseFrequency(names, Math.min(names, Math.max(1, holding))) / inverseFrequency(names, 1);
  }

  /** Returns drawers of the given files, then of the names that match most of the terms. `total`: sum of the terms' weights. */
  rows(
    { stems, files }: { stems: readonly (readonly string[])[]; files: ReadonlyMap<string, number> },
    telling: readonly number[],
    total: number,
    isAllowed: (row: number) => boolean,
  ): number[] {
    const scores = new Float64Array(this.#names.length);
    stems.forEach((forms, at) => {
      // Skips words in more than half of the names: they distinguish no name and are the slowest to count.
      const names = this.#namesWith(forms);
      if (names.length > NAMES_MAX && names.length * 2 > this.#names.length) return;
      for (const name of names) scores[name] = (scores[name] ?? 0) + (telling[at] ?? 0);
    });
    const scoreMax = scores.reduce((max, score) => Math.max(max, score), 0);
    const scoreMin = Math.max(SHARE_MIN * total, scoreMax / 2);
    const best: number[] = [];
    scores.forEach((score, at) => void (score > 0 && score >= scoreMin && best.push(at)));
    best.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
    const rows = new Set<number>();
    const asked = [...files].sort((a, b) => b[1] - a[1]).map(([sourceFile]) => ({ sourceFile }));
    for (const name of [
      ...asked.slice(0, NAMES_MAX),
      ...best.slice(0, NAMES_MAX).map((at) => this.#names[at] as NameKey),
    ])
      for (const row of this.#rowsOf(name)) {
        if (rows.size >= ROWS_MAX) return [...rows];
        if (isAllowed(row)) rows.add(row);
      }
    return [...rows];
  }

  #namesWith(stems: readonly string[]): readonly number[] {
    const held = stems.flatMap((one) => this.#holding.get(one) ?? []);
    return stems.length > 1 ? [...new Set(held)] : held;
  }

  #rowsOf(name: NameKey): Iterable<number> {
    const { rowsOfSource, rowsOfPlace } = this.#statements;
    return "sourceFile" in name ? rowsOfSource.iterate(name.sourceFile) : rowsOfPlace.iterate(name.wing, name.room);
  }

  #refresh(): void {
    const { version, count } = this.#statements;
    const now = version.get();
    if (now === this.#version) return;
    this.#add();
    if (this.#known.size !== count.get()) {
      // A name was deleted, so all names are read again.
      for (const held of [this.#holding, this.#known]) held.clear();
      this.#names.length = 0;
      this.#sourcesTo = 0;
      this.#add();
    }
    this.#version = now;
  }

  #add(): void {
    const { places, sources, waiting } = this.#statements;
    const stemsOf = stemmer();
    for (const { wing, room } of places.iterate())
      this.#put(`\0${JSON.stringify([wing, room])}`, { wing, room }, () => stemsOf(`${wing} ${room}`));
    const named = (sourceFile: string): void => this.#put(sourceFile, { sourceFile }, () => stemsOf(sourceFile));
    for (const { row, sourceFile } of sources.iterate(this.#sourcesTo)) {
      named(sourceFile);
      this.#sourcesTo = row;
    }
    for (const sourceFile of waiting.iterate()) named(sourceFile);
  }

  #put(key: string, name: NameKey, stems: () => Set<string>): void {
    if (this.#known.has(key)) return;
    this.#known.add(key);
    // Skips a conversation's second filing record, which has no drawers, and commits, whose names are digests.
    if (key.includes(MODE_SEPARATOR) || DIGEST.test(key)) return;
    const at = this.#names.push(name) - 1;
    const file = "sourceFile" in name ? [fileKey(pathKey(name.sourceFile))] : [];
    for (const term of [...stems(), ...file]) {
      const holding = this.#holding.get(term);
      if (holding === undefined) this.#holding.set(term, [at]);
      else holding.push(at);
    }
  }
}

type InNames = { share: number; holds: boolean[] };

/** Returns a function that computes the share of the terms in a drawer's names, 0…1. `terms[i]`: stems of term i. */
export function nameCounter(
  terms: readonly (readonly string[])[],
  telling: readonly number[],
  total: number,
): (named: Named) => InNames {
  // Only a few of a question's words are in any name, so the function compares only these.
  const held = terms.flatMap((_, at) => ((telling[at] ?? 0) > 0 ? [at] : []));
  const count = termCounter(
    held.map((at) => terms[at] as readonly string[]),
    [],
  );
  const none: InNames = { share: 0, holds: [] };
  const known = new Map<string, InNames>();
  return ({ sourceFile, wing, room }) => {
    if (held.length === 0) return none;
    const name = `${sourceFile} ${wing} ${room}`;
    const before = known.get(name);
    if (before !== undefined) return before;
    const holds: boolean[] = [];
    count(spread(name)).terms.forEach((times, at) => (holds[held[at] as number] = times > 0));
    const weight = held.reduce((all, at) => all + (holds[at] === true ? (telling[at] ?? 0) : 0), 0);
    const counted = { share: weight < SHARE_MIN * total ? 0 : weight / total, holds };
    known.set(name, counted);
    return counted;
  };
}

/** Returns a sum: a term in the text adds its weight, and a term that only the drawer's names contain adds its weight in `telling`. */
export function heldWeight(
  weights: readonly number[],
  telling: readonly number[],
  counts: readonly number[],
  isNamed: readonly boolean[],
): number {
  return sum(
    weights.map((weight, at) => {
      const count = counts[at] ?? 0;
      if (count > 0) return weight * Math.min(1, count);
      return isNamed[at] === true ? (telling[at] ?? 0) : 0;
    }),
  );
}
