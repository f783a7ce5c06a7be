/** Shows a mined file by its own name in search answers, although its drawers name the staged copy that was made for mining. */
import type { SourceFiles } from "../port/source.ts";

export type SourceNames = Pick<SourceFiles, "original" | "stagedAs">;

/** Replaces a staged copy's path with the path of the user's own file, if known, in the hits and in their `also_in` lists. */
export function withOriginals<Hit extends Record<string, unknown>>(hits: readonly Hit[], files: SourceNames): Hit[] {
  return hits.map((hit) => {
    const copies = hit["also_in"];
    return {
      ...hit,
      ...pathOf(hit, files),
      ...(Array.isArray(copies) && { also_in: copies.map((copy: object) => ({ ...copy, ...pathOf(copy, files) })) }),
    };
  });
}

function pathOf(named: object, files: SourceNames): { source_path?: string } {
  const path = "source_path" in named ? named.source_path : undefined;
  const original = typeof path === "string" ? files.original(path) : undefined;
  return original === undefined ? {} : { source_path: original };
}

/** Returns the name under which the drawers of a source are filed: the given name, or else the name of a staged copy of that file. */
export function nameOfSource(given: string, staged: readonly string[], isThere: (name: string) => boolean): string {
  return [given, ...staged].find(isThere) ?? given;
}
