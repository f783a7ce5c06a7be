/** Reads and writes Roampal's graph files (outcome-memory.md 8.1, 8.6, 8.7). Keeps the spelling of numbers, for Python: 1.0 is not 1. */
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { syncFile } from "../../base/folders.ts";
import { hasLevels, isRecord } from "../../base/parse-json.ts";
import { CARRIED_LEVELS_MAX } from "../../protocol/limits.ts";
import { CARRIED_GRAPHS, type CarriedEntry } from "../../protocol/outcome.ts";

/** Maximum size of a file. It is read as a whole, and its parsed numbers need many times its bytes. */
const GRAPH_FILE_MAX_BYTES = 32 * 1024 ** 2;
/** Number of levels at which a file is split into entries: its sections, and the names in a section. */
const LEVELS = 2;

/** Graph file. `deep`: entries with too many levels for an import. `why`: reason if the file cannot be read. */
export type GraphFile = { file: string; entries: CarriedEntry[]; deep: CarriedEntry["at"][]; why?: string };

export function* readGraphs(dir: string): Generator<GraphFile, void> {
  for (const file of CARRIED_GRAPHS) {
    const graph: GraphFile = { file, entries: [], deep: [] };
    try {
      const stat = statSync(join(dir, file), { throwIfNoEntry: false });
      if (stat === undefined) continue;
      // Reading a pipe or a device would never end.
      if (!stat.isFile()) yield { ...graph, why: "it is not a file" };
      else if (stat.size > GRAPH_FILE_MAX_BYTES)
        yield { ...graph, why: `it has more than ${GRAPH_FILE_MAX_BYTES / 1024 ** 2} MiB` };
      else yield read(join(dir, file), graph);
    } catch (error) {
      yield { ...graph, why: `it cannot be read: ${(error as Error).message.split("\n")[0]}` };
    }
  }
}

/** Collects entries and writes them as graph files. A later entry replaces an earlier one with the same name. */
export class GraphTexts {
  readonly #files = new Map<string, Map<string, string | Map<string, string>>>();

  add(entries: readonly CarriedEntry[]): void {
    for (const { at, value } of entries) {
      const [file = "", section, name] = at;
      // Accepts only known files: the name becomes a path, and the broker that sent it may be on another machine.
      if (!CARRIED_GRAPHS.some((known) => known === file)) continue;
      const sections = this.#files.get(file) ?? new Map<string, string | Map<string, string>>();
      this.#files.set(file, sections);
      if (section === undefined) continue;
      const known = sections.get(section);
      // Keeps the names that an earlier page added to this section.
      if (name === undefined) {
        if (!(known instanceof Map)) sections.set(section, value);
      } else if (known instanceof Map) known.set(name, value);
      else sections.set(section, new Map([[name, value]]));
    }
  }

  write(dir: string): void {
    for (const [file, sections] of this.#files) {
      const to = openSync(join(dir, file), "wx", 0o600);
      try {
        for (const piece of objectOf(sections)) writeFileSync(to, piece);
        syncFile(to);
      } finally {
        closeSync(to);
      }
    }
  }
}

function* objectOf(sections: ReadonlyMap<string, string | ReadonlyMap<string, string>>): Generator<string, void> {
  const members = (of: ReadonlyMap<string, string>): string =>
    [...of].map(([name, value]) => `\n    ${JSON.stringify(name)}: ${value}`).join(",");
  let before = "{";
  for (const [section, held] of sections) {
    yield `${before}\n  ${JSON.stringify(section)}: ${typeof held === "string" ? held : `{${members(held)}\n  }`}`;
    before = ",";
  }
  yield sections.size === 0 ? "{}\n" : "\n}\n";
}

function read(path: string, graph: GraphFile): GraphFile {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  const value = parse(text);
  if (!isRecord(value) || isNumber(value)) return { ...graph, why: "it is not a JSON object" };
  collect([graph.file], value, LEVELS, graph);
  return graph;
}

function collect(at: readonly string[], value: unknown, levels: number, graph: GraphFile): void {
  if (levels > 0 && isRecord(value) && !isNumber(value) && Object.keys(value).length > 0)
    for (const [name, one] of Object.entries(value)) collect([...at, name], one, levels - 1, graph);
  else if (hasLevels(value, CARRIED_LEVELS_MAX)) graph.entries.push({ at, value: JSON.stringify(value) });
  else graph.deep.push(at);
}

/** The global JSON with types that TypeScript lacks. `parse` gives its callback a number's original spelling. */
const NUMBERS = JSON as unknown as {
  parse(text: string, revive: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

function parse(text: string): unknown {
  return NUMBERS.parse(text, (_name, value, { source }) =>
    typeof value === "number" && source !== undefined && source !== String(value) ? NUMBERS.rawJSON(source) : value,
  );
}

function isNumber(value: unknown): boolean {
  return NUMBERS.isRawJSON(value);
}
