/** Finds out whether search on a palace uses the model. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parseRecord } from "../../base/parse-json.ts";
import type { Env } from "../../config/env.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { printable } from "../terminal/output.ts";

const ANSWER_MAX_MS = 30_000;
const STATUS_SIZE_MAX_BYTES = 1024 * 1024;

export type SearchHere = Pick<StatusReport["search"], "modelState" | "modelDetail">;

/** `command`: a `palace status --json`. Returns undefined if the command fails, or if an external engine searches. */
export async function askSearch(command: readonly string[], env: Env): Promise<SearchHere | undefined> {
  const [program = "", ...args] = command;
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      ...{ env, timeout: ANSWER_MAX_MS, maxBuffer: STATUS_SIZE_MAX_BYTES },
    });
    const { search, engine } = parseRecord(stdout) as Partial<StatusReport>;
    if (search === undefined || engine?.kind === "command") return undefined;
    return { modelState: search.modelState, modelDetail: search.modelDetail };
  } catch {
    return undefined;
  }
}

export function describeSearch({ modelState, modelDetail }: SearchHere): string {
  if (modelState === "ready" || modelState === "extra") return "Search finds memories by words and by meaning.";
  const later = "Search finds memories by words and by meaning; it finds more when the model is";
  if (modelState === "loading") return `${later} loaded.`;
  if (modelState === "downloading") return `${later} downloaded (${printable(modelDetail)}).`;
  return `Search finds memories by words and meaning, without the model: ${causeOf(modelDetail)}. \`palace doctor\` says what to do.`;
}

/** Returns why the model is missing. Leaves out the download's address and error, because `palace doctor` shows them. */
export function causeOf(modelDetail: string): string {
  const [cause = ""] = printable(modelDetail).split("; searching without it");
  return cause.replace(/ \(.*\)$/, "");
}
