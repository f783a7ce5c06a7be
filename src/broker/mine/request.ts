/** Checks the arguments of the tool `mine`, and builds the command line. Source: 3.11's tool_mine (upstream-latest.md 2.1). */
import { pythonRepr } from "../../memory/text/text.ts";
import { asText } from "../../memory/text/validate.ts";

export type Refusal = { success: false; error: string; error_class?: string; hint?: string };

export type MineRequest = {
  /** Path as the client wrote it. */
  source: string;
  mode: "projects" | "convos" | "extract";
  wing: string | undefined;
  agent: string;
  limit: number;
  dryRun: boolean;
  extract: string;
  includeIgnored: readonly string[];
  includeSubagents: boolean;
};

const MODES = ["projects", "convos", "extract"];
const EXTRACTS = ["exchange", "general"];
/** Maximum bytes of agent, wing and include_ignored together: half of what Linux allows for one argument (MAX_ARG_STRLEN). */
const WORDS_MAX_BYTES = 64 * 1024;

export function refusal(error: string, errorClass?: string, hint?: string): Refusal {
  return {
    ...{ success: false, error },
    ...(errorClass !== undefined && { error_class: errorClass }),
    ...(hint !== undefined && { hint }),
  };
}

export function readRequest(values: Record<string, unknown>): MineRequest | Refusal {
  const mode = values["mode"] ?? "projects";
  if (typeof mode !== "string" || !MODES.includes(mode))
    return refusal(`invalid mode '${asText(mode)}'; expected one of: ${MODES.join(", ")}`);
  const include = values["include_ignored"] ?? [];
  if (!Array.isArray(include) || !include.every((path) => typeof path === "string" && path.trim() !== ""))
    return refusal("include_ignored must be an array of non-empty project-relative path strings", "ValueError");
  if (include.length > 0 && mode !== "projects")
    return refusal("include_ignored is supported only in projects mode", "ValueError");
  const includeSubagents = values["include_subagents"] ?? false;
  if (typeof includeSubagents !== "boolean") return refusal("include_subagents must be a boolean", "ValueError");
  const { source, wing, agent, limit, extract } = values;
  if (typeof source !== "string") return notFound(source);
  const how = extract ?? "exchange";
  if (mode === "convos" && !EXTRACTS.includes(asText(how)))
    return refusal(`invalid extract '${asText(how)}'; expected one of: ${EXTRACTS.join(", ")}`, "ValueError");
  const words = [agent, wing, ...include].filter((word) => typeof word === "string");
  if (words.some((word) => word.includes("\0")))
    return refusal("agent, wing and include_ignored must not contain a null character", "ValueError");
  const length = words.reduce((bytes, word) => bytes + Buffer.byteLength(word), 0);
  if (length > WORDS_MAX_BYTES)
    return refusal(
      `agent, wing and include_ignored are too long together: ${length} bytes of at most ${WORDS_MAX_BYTES}`,
      "ValueError",
    );
  return {
    ...{ source, mode: mode as MineRequest["mode"], extract: asText(how), includeIgnored: include as string[] },
    wing: typeof wing === "string" && wing !== "" ? wing : undefined,
    agent: typeof agent === "string" && agent.trim() !== "" ? agent : "mempalace",
    limit: typeof limit === "number" ? Math.min(Math.max(0, limit), 999_999_999) : 0,
    ...{ dryRun: Boolean(values["dry_run"] ?? false), includeSubagents },
  };
}

export function notFound(source: unknown): Refusal {
  return refusal(
    `source not found: ${source === null ? "None" : typeof source === "string" ? pythonRepr(source) : asText(source)}`,
  );
}

/** Returns the arguments after the executable. `source` is the real path. */
export function argumentsOf(request: MineRequest, source: string): string[] {
  const { mode, wing, agent, limit, dryRun, extract, includeIgnored, includeSubagents } = request;
  return [
    ...["mine", mode === "extract" ? "formats" : mode, "--json", "--progress", `--agent=${agent}`, `--limit=${limit}`],
    ...(wing === undefined ? [] : [`--wing=${wing}`]),
    ...(dryRun ? ["--dry-run"] : []),
    ...(mode === "convos" ? [`--extract=${extract}`] : []),
    ...(includeSubagents && mode === "convos" ? ["--include-subagents"] : []),
    ...includeIgnored.map((path) => `--include-ignored=${path}`),
    ...["--", source],
  ];
}
