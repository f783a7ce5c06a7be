/** Finds which model made a palace's vectors, by embedding some texts again or else by the model's name in the palace (palace.md 4.2). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord, parseAs } from "../../base/parse-json.ts";
import { MODEL_NAME } from "../../memory/index/embedding/model-files.ts";
import type { Embedder } from "../../memory/port/search.ts";
import { DRAWERS, readChroma } from "../format/chroma-file.ts";

/** Minimum cosine of two vectors from one model. Exports of a model differ by about 1e-6, Python's int8 exports by some thousandths. */
const COSINE_MIN = 0.98;
const BUSY_TIMEOUT_MS = 5_000;
const MINILM_WIDTH = 384;

export type Sample = { text: string; vector: Float32Array };

export type ModelOfOptions = {
  palaceDir: string;
  collection?: string;
  /** Model of the ledger's vectors; undefined if the ledger has no vectors yet. */
  recorded: string | undefined;
  embedder: Embedder | undefined;
};

/** `model` and `width` are undefined if our model did not make the vectors, or if this is unknown; `why` has the reason. */
export type ModelFinding = { model: string | undefined; width: number | undefined; why: string };

/** Finds the model of the samples' vectors. Decides by majority, because another program may have changed a text without its vector. */
export async function modelOf(samples: readonly Sample[], options: ModelOfOptions): Promise<ModelFinding> {
  const { palaceDir, collection = DRAWERS, recorded, embedder } = options;
  const anew = (why: string): ModelFinding => ({ model: undefined, width: undefined, why });
  if (samples.length === 0) return anew("");
  const made = await embedder?.embed(samples.map(({ text }) => text)).catch(() => undefined);
  const width = embedder?.identity.dimensions ?? MINILM_WIDTH;
  const fitting = samples.filter(({ vector }) => vector.length === width).length;
  if (fitting * 2 <= samples.length) {
    const theirs = samples.find(({ vector }) => vector.length !== width)?.vector.length;
    return anew(`its vectors have ${theirs} numbers, our model's ${width}: its texts are embedded again`);
  }
  if (embedder === undefined || made === undefined) {
    const isMiniLm =
      namesMiniLm(palaceDir, collection) && width === MINILM_WIDTH && (recorded ?? MODEL_NAME) === MODEL_NAME;
    if (isMiniLm) return { model: MODEL_NAME, width, why: "" };
    return anew("without a model on this machine, the model of its vectors is unknown: its texts are embedded again");
  }
  const same = samples.filter(({ vector }, index) => cosine(vector, made[index]) >= COSINE_MIN).length;
  if (same * 2 > samples.length) return { model: embedder.identity.id, width, why: "" };
  return anew("its vectors come from another model, so its texts are embedded again");
}

/** Returns true if the collection names the model `default`, and mempalace_embedder.json of 3.11, if present, names MiniLM. */
function namesMiniLm(palaceDir: string, collection: string): boolean {
  const named = embedderFile(palaceDir, collection);
  if (named !== undefined && named !== "minilm") return false;
  const text = readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) => {
    const columns = palace.pragma("table_info(collections)") as { name: string }[];
    // An older Chroma's table has neither of these columns.
    const known = columns.filter(({ name }) => name === "config_json_str" || name === "schema_str");
    if (known.length === 0) return "";
    const all = known.map(({ name }) => `coalesce(${name}, '')`).join(" || ");
    return palace.prepare<[string], string>(`SELECT ${all} FROM collections WHERE name = ?`).pluck().get(collection);
  });
  return /"name"\s*:\s*"default"/.test(text ?? "") && !/embeddinggemma/.test(text ?? "");
}

function embedderFile(palaceDir: string, collection: string): string | undefined {
  try {
    const file = parseAs(readFileSync(join(palaceDir, "mempalace_embedder.json"), "utf8"), isRecord);
    const entry = file?.[collection];
    return file === undefined ? undefined : String(isRecord(entry) ? entry["model_name"] : undefined);
  } catch {
    return undefined;
  }
}

function cosine(a: Float32Array, b: Float32Array | undefined): number {
  if (b === undefined || b.length !== a.length) return 0;
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
