/** Proves that shims share a palace: writes a memory through one shim and finds it through the others. `palace up` uses this proof. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Env } from "../../config/env.ts";
import { unavailable } from "../../base/errors.ts";
import { PROOF_WING } from "../../protocol/status.ts";
import { openStdioMcp, type StdioMcp } from "./stdio-mcp.ts";

const CALL_TIMEOUT_MS = 60_000;
const LOOKS_MAX = 50;
const LOOK_WAIT_MS = 100;

export type Proof = Readonly<{ drawerId: string; readers: number; ms: number }>;

export type ProofOptions = {
  writer: readonly string[];
  readers: readonly (readonly string[])[];
  env: Env;
  signal?: AbortSignal;
};

/** Writes, finds and erases a memory. `writer`, `readers`: command lines of shims. Errors: STORE_UNAVAILABLE. */
export async function provePalace({ writer, readers, env, signal }: ProofOptions): Promise<Proof> {
  const startedAt = performance.now();
  const open = (argv: readonly string[]): Promise<StdioMcp> =>
    openStdioMcp(argv, { env, timeoutMs: CALL_TIMEOUT_MS, ...(signal !== undefined && { signal }) });
  await using source = await open(writer);
  const word = `proof${randomBytes(6).toString("hex")}`;
  const filed = await source.call("mempalace_add_drawer", {
    wing: PROOF_WING,
    room: "proof",
    content: `Written to prove that this palace is shared: ${word}`,
  });
  const drawerId = String(filed["drawer_id"]);
  try {
    for (const argv of readers) {
      await using reader = await open(argv);
      if (!(await canFind(reader, word, PROOF_WING)))
        throw unavailable(
          `a drawer that one shim wrote was not found through another shim (${argv.join(" ")})`,
          "run `palace doctor`",
        );
    }
  } finally {
    await source.call("mempalace_delete_drawer", { drawer_id: drawerId });
  }
  return { drawerId, readers: readers.length, ms: Math.round(performance.now() - startedAt) };
}

/** Searches several times, because a search may miss a very recent write. */
export async function canFind(reader: StdioMcp, word: string, wing: string): Promise<boolean> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const found = await reader.call("mempalace_search", { query: word, wing, limit: 5 });
    if (JSON.stringify(found["results"] ?? []).includes(word)) return true;
    await sleep(LOOK_WAIT_MS);
  }
  return false;
}
