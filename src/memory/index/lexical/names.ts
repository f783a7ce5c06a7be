/**
 * Searches the names of drawers: their source's file and folders, their wing and their room. Names repeat, so each is held once, in
 * memory, and brought up to the ledger's committed state before each question: a write pays nothing for it, and a forgotten
 * source leaves nothing behind. Used by lexical-search.ts.
 */
import type { Database } from "better-sqlite3";
import { MODE_SEPARATOR } from "../../port/source.ts";
import { inverseFrequency } from "./bm25.ts";
import { stem } from "./stem.ts";
import { termCounter, wordForms } from "./tokens.ts";

/** The names of a drawer; `sourceFile` is "" for a drawer without a source. */
export type Named = { sourceFile: string; wing: string; room: string };
type NameKey = { sourceFile: string } | { wing: string; room: string };

/** A name that holds a smaller share of the question says nothing. */
const SHARE_MIN = 0.15;
/** Names whose drawers become candidates, and the drawers of all of them. */
const NAMES_MAX = 20;
const ROWS_MAX = 50;
/** Rows of one name that are compared with the filter. */
const READ_MAX = 1_000;
/** Before an inner capital: `maxRetries`, `HTMLParser`. */
const INNER_CAPITAL = /[\p{Ll}\p{N}](?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu;

const DIGEST = /^[a-z]+:[0-9a-f]{16,}$/;

/** The name as it is, and cut at inner capitals. */
function spread(name: string): string {
  return `${name} ${name.replace(INNER_CAPITAL, "$& ")}`.normalize("NFC");
}

/** Returns a function for the stems of a name, which remembers words and folders: both repeat. */
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

/** Key of a file's name among the stems, which hold no slash. */
function fileKey(path: string): string {
  return path.slice(path.lastIndexOf("/"));
}

/** The path in one case and one form of Unicode: macOS writes names in the other form. */
function pathKey(path: string): string {
  return `/${path.toLowerCase().normalize("NFC")}`;
}

/** Concurrency: belongs to one thread. */
export class NameIndex {
  readonly #statements;
  /** Names that hold a stem, as positions in `#names`. */
  readonly #holding = new Map<string, number[]>();
  readonly #names: NameKey[] = [];
  readonly #known = new Set<string>();
  #version: unknown;
  #sourcesTo = 0;

  constructor(ledger: Database) {
    const sql = <Bound extends unknown[], Row>(text: string) => ledger.prepare<Bound, Row>(text);
    // Sources of small writes wait for a quiet moment in `source_dirty` until they have their row in `source`.
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

  /** Returns what holding each term adds to a drawer's share: its weight, less where many names hold it, 0 where none does. */
  tellingWeights(stems: readonly (readonly string[])[], weights: readonly number[]): number[] {
    this.#refresh();
    return stems.map((forms, at) => {
      const holding = this.#namesWith(forms).length;
      return holding === 0 ? 0 : (weights[at] ?? 0) * this.#rarity(holding);
    });
  }

  /** Files that an identifier names, in any case: by its whole name, or that and folders above it. 1: one file, less where many have the name. */
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

  /** 1 for a word or file of one name, towards 0 for one of all names. */
  #rarity(holding: number): number {
    const names = Math.max(1, this.#names.length);
    return inverseFrequency(names, Math.min(names, Math.max(1, holding))) / inverseFrequency(names, 1);
  }

  /**
   * Drawers of the given files, and then of the names that hold most of the terms; `isAllowed` leaves out others. `total`: the sum
   * of the terms' weights.
   */
  rows(
    { stems, files }: { stems: readonly (readonly string[])[]; files: ReadonlyMap<string, number> },
    telling: readonly number[],
    total: number,
    isAllowed: (row: number) => boolean,
  ): number[] {
    const scores = new Float64Array(this.#names.length);
    stems.forEach((forms, at) => {
      // A word of most names tells none of them from the others, and is the most expensive to count.
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

  /** Names that hold any of a term's stems. */
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
      // A name is gone: all are read again, so that nothing of it is held.
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
    // A conversation's second filing record has no drawers, and nobody asks for a digest, as commits have.
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

/** Returns a function for the share of the terms that a drawer's names hold, 0…1, and for each term whether they hold it. `terms[i]`: the stems of one. */
export function nameCounter(
  terms: readonly (readonly string[])[],
  telling: readonly number[],
  total: number,
): (named: Named) => InNames {
  // Names hold few of a question's words: only those are looked for.
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
    const sum = held.reduce((all, at) => all + (holds[at] === true ? (telling[at] ?? 0) : 0), 0);
    const counted = { share: sum < SHARE_MIN * total ? 0 : sum / total, holds };
    known.set(name, counted);
    return counted;
  };
}
