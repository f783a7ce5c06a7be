/** Checks the embedding model, its runtime and the cross-encoder. */
import { findRuntime, importRuntime } from "../../base/onnxruntime.ts";
import type { Config } from "../../config/config.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { brokerBox } from "../docker/owner.ts";
import { describeMode, describeReranker } from "./describe.ts";
import { printable } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "../doctor/check.ts";

/** Passes without a runtime, because a search then uses words and the static table. */
export function checkRuntime({ model }: Config): Check {
  const file = findRuntime(model.cacheDir);
  if (file === undefined) return ok("runtime", "onnxruntime-node, which runs MiniLM, is an extra: palace model get");
  try {
    importRuntime(file);
    return ok("runtime", "onnxruntime-node loads");
  } catch (error) {
    return warn("runtime", printable((error as Error).message), "search by words and meaning works without it");
  }
}

/** Warns about a missing model only if the settings expect one. */
export function checkModel({ search }: StatusReport, config: Config): Check {
  const { offline } = config.model;
  const { modelState, modelDetail, pending, embedded } = search;
  const isWaiting = pending > 0 && modelState !== "extra";
  const progress = isWaiting ? `; ${pending} of ${pending + embedded} drawers still to embed` : "";
  const detail = `search ${describeMode(search, printable)}${modelState === "ready" ? `, ${modelDetail}` : ""}${progress}`;
  if (modelState === "mismatch")
    return fail("model", detail, "palace config set model-dir DIR, the palace's own model; then palace restart");
  if (modelState === "failed") return warn("model", detail, "run `palace logs`");
  if (modelState === "missing")
    return warn(
      "model",
      detail,
      brokerBox(config) !== undefined
        ? "name a folder that has it in the stack's .env (MEMPALACE_MODEL_DIR=DIR), then: palace devbox up"
        : findRuntime(config.model.cacheDir) === undefined
          ? "palace model get"
          : offline
            ? "to search by meaning too: MEMPALACE_OFFLINE=0 palace restart fetches the model; or name a folder that has it: palace config set model-dir DIR, then palace restart"
            : "the broker tries again by itself; to try now: palace restart; or name a folder that has it: palace config set model-dir DIR, then palace restart",
    );
  return ok("model", detail);
}

/** Passes without a cross-encoder, which is optional. */
export function checkReranker({ search }: StatusReport): Check {
  const said = describeReranker(search) ?? `off: ${search.reranker?.detail ?? "this broker has none"}`;
  if (search.reranker?.state === "failed")
    return warn("cross-encoder", said, "put a complete model there, or delete the model, and run `palace restart`");
  return ok("cross-encoder", said);
}
