/**
 * The real MemPalace from the package index, over the same files and with the same model as our side. Its palaces are
 * made once (kept.ts), which takes as long as its embedding.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { realModelDir } from "../../helpers/palace.ts";
import {
  type Mempalace,
  mempalaceMissing,
  type MempalaceVersion,
  openMempalace,
  runMempalace,
} from "../../helpers/python-mempalace.ts";
import { pythonHome } from "../python-side.ts";
import { keptFolder } from "./kept.ts";

export const MEMPALACE: MempalaceVersion = "3.11.0";
/** How its search is called: as it ships, and with the option that our own recipe is nearest to. */
export const MEMPALACE_WAYS: Readonly<Record<string, Record<string, string>>> = {
  [`MemPalace ${MEMPALACE}`]: {},
  [`MemPalace ${MEMPALACE}, union`]: { candidate_strategy: "union" },
};

/** A thousand drawers take ten minutes on a loaded machine. */
const MINE_MAX_MS = 3_600_000;

export type MempalaceHit = { text: string; wing: string; source_file: string };

/** Returns why it cannot be asked here, or undefined. */
export function mempalaceUnavailable(): Promise<string | undefined> {
  return realModelDir === undefined ? Promise.resolve("there is no model for it") : mempalaceMissing(MEMPALACE);
}

/** `write` makes the projects in the folder that it gets and returns them; each has a mempalace.yaml. */
export async function openKeptMempalace(
  name: string,
  content: string,
  write: (folder: string) => string[],
): Promise<AsyncDisposable & { search(query: string, limit: number, way: object): Promise<MempalaceHit[]> }> {
  const kept = await keptFolder(`mempalace-${MEMPALACE}-${name}`, content, async (folder) => {
    using python = pythonHome();
    const palace = join(python.home, "palace");
    for (const project of write(join(python.home, "projects"))) {
      const { code, output } = await runMempalace(MEMPALACE, ["--palace", palace, "mine", project], {
        home: python.home,
        timeoutMs: MINE_MAX_MS,
      });
      if (code !== 0) throw new Error(`mempalace mine ${project}: ${output.slice(-2000)}`);
    }
    cpSync(palace, join(folder, "palace"), { recursive: true });
  });
  const { home, ...python } = pythonHome();
  const palace = join(home, "palace");
  cpSync(join(kept, "palace"), palace, { recursive: true });
  const server: Mempalace = await openMempalace(MEMPALACE, { home, palace });
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
