/**
 * Whose model made a palace's vectors? Where the model is here, some texts are embedded and held against what is stored: two
 * models of one width cannot be told apart otherwise (palace.md 4.2). Without it the name in the palace has to do.
 * Used by broker/palace.ts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MODEL_NAME } from "../embedding/model-files.ts";
import type { Embedder } from "../port.ts";
import { DRAWERS, readChroma } from "../watch/chroma-file.ts";
import type { Sample } from "./take-over.ts";

/** Exports of one model agree to about 1e-6, Python's int8 ones to a few thousandths; other models not at all. */
const COSINE_MIN = 0.98;
const BUSY_TIMEOUT_MS = 5_000;

export type ModelOfOptions = {
  palaceDir: string;
  /** Model that the ledger's vectors are of; undefined: it has none yet. */
  recorded: string | undefined;
  /** Undefined: no model on this machine, now. */
  embedder: Embedder | undefined;
};

/** Undefined: not ours, or it cannot be told. */
export async function modelOf(samples: readonly Sample[], options: ModelOfOptions): Promise<string | undefined> {
  const { palaceDir, recorded, embedder } = options;
  if (samples.length === 0) return undefined;
  if (embedder === undefined) {
    const isMiniLm = namesMiniLm(palaceDir) && samples[0]?.vector.length === 384;
    return isMiniLm && (recorded ?? MODEL_NAME) === MODEL_NAME ? MODEL_NAME : undefined;
  }
  const made = await embedder.embed(samples.map(({ text }) => text));
  const isSame = samples.every(({ vector }, index) => cosine(vector, made[index]) >= COSINE_MIN);
  return isSame ? embedder.identity.id : undefined;
}

/** Both versions call MiniLM `default` in the collection; 3.11 also names it in a file of its own. */
function namesMiniLm(palaceDir: string): boolean {
  const named = embedderFile(palaceDir);
  if (named !== undefined && named !== "minilm") return false;
  const schema = readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) =>
    palace
      .prepare<[string], { config: string | null; schema: string | null }>(
        "SELECT config_json_str AS config, schema_str AS schema FROM collections WHERE name = ?",
      )
      .get(DRAWERS),
  );
  const text = `${schema?.config ?? ""}${schema?.schema ?? ""}`;
  return /"name"\s*:\s*"default"/.test(text) && !/embeddinggemma/.test(text);
}

function embedderFile(palaceDir: string): string | undefined {
  try {
    const file = JSON.parse(readFileSync(join(palaceDir, "mempalace_embedder.json"), "utf8")) as {
      [collection: string]: { model_name?: unknown } | undefined;
    };
    return String(file[DRAWERS]?.model_name);
  } catch {
    return undefined;
  }
}

function cosine(a: Float32Array, b: Float32Array | undefined): number {
  if (b === undefined || b.length !== a.length) return 0;
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
