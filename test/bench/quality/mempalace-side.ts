/** Runs the real MemPalace on a copy of our palace, so that both searches have the same drawers, closets, vectors and model. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { realModelDir } from "../../helpers/palace.ts";
import { mempalaceMissing, type MempalaceVersion, openMempalace } from "../../helpers/python-mempalace.ts";
import { pythonHome } from "../python-side.ts";

const MEMPALACE: MempalaceVersion = "3.11.0";
/** Arguments of MemPalace's search: its default, and the option that also finds candidates by words. */
export const MEMPALACE_WAYS: Readonly<Record<string, Record<string, string>>> = {
  [`MemPalace ${MEMPALACE}`]: {},
  "its union": { candidate_strategy: "union" },
};

export type MempalaceHit = { text: string; wing: string; source_file: string };
type MempalaceSide = AsyncDisposable & { search(query: string, limit: number, way: object): Promise<MempalaceHit[]> };

/** Returns why MemPalace cannot be asked here, or undefined if it can. */
export function mempalaceUnavailable(): Promise<string | undefined> {
  return realModelDir === undefined ? Promise.resolve("there is no model for it") : mempalaceMissing(MEMPALACE);
}

/** Opens the real MemPalace on a copy of `kept`, a palace of kept.ts with vectors. */
export async function openMempalaceOn(kept: string): Promise<MempalaceSide> {
  const python = pythonHome();
  const palace = join(python.home, "palace");
  cpSync(join(kept, ".mempalace/palace"), palace, { recursive: true });
  const server = await openMempalace(MEMPALACE, { home: python.home, palace });
  return {
    async search(query, limit, way) {
      const answer = await server.call("search", { query, limit, ...way });
      if (!Array.isArray(answer["results"])) throw new Error(`mempalace search: ${JSON.stringify(answer)}`);
      return answer["results"] as MempalaceHit[];
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      python[Symbol.dispose]();
    },
  };
}
