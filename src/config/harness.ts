/** Reads the settings of code inside an agent. Never throws: a bad value counts as not set, so that it cannot break the agent. */
import { piFolder } from "./agents.ts";
import { type Env, isOn, readVariable, usableSetting, type VariableName } from "./env.ts";
import { resolvePaths } from "./paths.ts";
import { readSettingsFile, withFile } from "./settings.ts";
import { orElse } from "../base/or-else.ts";

/** `url`: base URL of an OpenAI Chat Completions API. */
export type JudgeSettings = Readonly<{ url: string; model: string; key: string | undefined }>;
export type HarnessSettings = ReturnType<typeof readHarness>;

/** Merges the settings file into an agent's environment. `palace` is the --palace argument of the hook's command. */
export function harnessEnv(env: Env, palace?: string): Env {
  return orElse(() => withFile(env, readSettingsFile(resolvePaths(env, palace).home, env)), env);
}

export function readHarness(env: Env) {
  return Object.freeze({
    wakeUp: usableSetting(env, "wake-up"),
    /** Wing from which the wake-up text is taken. Undefined: the whole palace. */
    wing: usableSetting(env, "wake-up-wing")?.trim(),
    /** Time that a turn of an agent waits for the memory, ms. */
    turnMaxMs: usableSetting(env, "turn-max-ms"),
    /** Maximum size of an injected text, including the markers around it, bytes. */
    injectedMaxBytes: usableSetting(env, "wake-up-bytes"),
    recall: usableSetting(env, "recall"),
    outcomes: usableSetting(env, "outcomes"),
    /** Model that judges the exchanges that the agent has not scored. Undefined: no model judges them. */
    judge: readJudge(env),
    /** Beginnings of commands that count as tests, in addition to the known test commands. */
    testCommands: usableSetting(env, "test-commands"),
    agentName: readVariable(env, "MEMPALACE_AGENT_NAME")?.trim(),
    /** Program with its arguments. Undefined: the extension searches for the program. */
    hookCommand: command(env, "MEMPALACE_HOOK_COMMAND"),
    mcpCommand: command(env, "MEMPALACE_MCP_COMMAND"),
    /** Time limit of a tool call, ms; 0 means no limit. */
    callTimeoutMs: usableSetting(env, "mcp-timeout-ms"),
    startTimeoutMs: usableSetting(env, "mcp-init-timeout-ms"),
    respawnsMax: usableSetting(env, "mcp-max-respawns"),
    respawnBackoffMs: usableSetting(env, "mcp-respawn-backoff-ms"),
    isDebug: isOn(env, "MEMPALACE_EXT_DEBUG"),
    piDir: piFolder(env, readVariable(env, "HOME") ?? ""),
  });
}

function readJudge(env: Env): JudgeSettings | undefined {
  const url = usableSetting(env, "judge-url")?.trim() ?? "";
  const model = usableSetting(env, "judge-model")?.trim() ?? "";
  const key = readVariable(env, "MEMPALACE_JUDGE_KEY")?.trim();
  return /^https?:\/\//.test(url) && URL.canParse(url) && model !== "" ? { url, model, key } : undefined;
}

/** Splits words, or parses a JSON array for words with blanks; undefined for a malformed array. */
function command(env: Env, name: VariableName): string[] | undefined {
  const value = readVariable(env, name)?.trim();
  if (value === undefined) return undefined;
  if (!value.startsWith("[")) return value.split(/\s+/);
  try {
    const words: unknown = JSON.parse(value);
    const isArgv = Array.isArray(words) && words.length > 0 && words.every((one) => typeof one === "string");
    return isArgv ? words : undefined;
  } catch {
    return undefined;
  }
}
