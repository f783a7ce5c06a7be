/**
 * Shows a staged copy under the name of the user's file in a search's answers, and resolves that name back where a
 * caller uses it. Pure; the files come through their port. Used by search-tool.ts and batch.ts.
 */
import type { SourceFiles } from "../port/source.ts";

export type SourceNames = Pick<SourceFiles, "original" | "stagedAs">;

/** Adds the path of the user's own file, if known, to the hits and to their copies elsewhere. */
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

/** Returns the source name that drawers have: the given name, else the name of one of its staged copies. */
export function nameOfSource(given: string, staged: readonly string[], isThere: (name: string) => boolean): string {
  return [given, ...staged].find(isThere) ?? given;
}
