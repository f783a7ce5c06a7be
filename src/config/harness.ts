/**
 * Reads the settings of code that runs inside or beside an agent. An invalid value counts as not set: it must not break an
 * agent. It is part of the files that are copied into agents' folders, so it never throws and imports little.
 */
import { piFolder } from "./agents.ts";
import { type Env, isOn, readVariable, usableSetting, type VariableName } from "./env.ts";
import { resolvePaths } from "./paths.ts";
import { readSettingsFile, withFile } from "./settings.ts";

/** The address of OpenAI's Chat Completions without its end, and a model there. */
export type JudgeSettings = Readonly<{ url: string; model: string; key: string | undefined }>;
export type HarnessSettings = ReturnType<typeof readHarness>;

/** Merges the settings file into the environment of an agent. `palace` is the --palace argument of the hook's command. */
export function harnessEnv(env: Env, palace?: string): Env {
  try {
    return withFile(env, readSettingsFile(resolvePaths(env, palace).home, env));
  } catch {
    return env;
  }
}

export function readHarness(env: Env) {
  return Object.freeze({
    wakeUp: usableSetting(env, "wake-up"),
    /** Undefined: the whole palace. */
    wing: usableSetting(env, "wake-up-wing")?.trim(),
    /** How long a turn of an agent waits for the memory. */
    turnMaxMs: usableSetting(env, "turn-max-ms"),
    /** Limit of an injected text, its fence included. */
    injectedMaxBytes: usableSetting(env, "wake-up-bytes"),
    recall: usableSetting(env, "recall"),
    /** Memory that learns from outcomes follows the conversation; `project`: it leaves out memories of other projects. */
    outcomes: usableSetting(env, "outcomes"),
    /** Judge of outcomes that an agent has not scored; if undefined, nobody judges them. */
    judge: readJudge(env),
    /** Beginnings of commands that count as tests, beside those that are known. */
    testCommands: usableSetting(env, "test-commands"),
    agentName: readVariable(env, "MEMPALACE_AGENT_NAME")?.trim(),
    /** Argument vectors; undefined: the program is looked for. */
    hookCommand: command(env, "MEMPALACE_HOOK_COMMAND"),
    mcpCommand: command(env, "MEMPALACE_MCP_COMMAND"),
    /** 0 = no limit. */
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

/** Splits words, or a JSON array when one of them contains a space. */
function command(env: Env, name: VariableName): string[] | undefined {
  const value = readVariable(env, name)?.trim();
  if (value === undefined) return undefined;
  if (!value.startsWith("[")) return value.split(/\s+/);
  try {
    const words: unknown = JSON.parse(value);
    const isArgv = Array.isArray(words) && words.length > 0 && words.every((one) => typeof one === "string");
    return isArgv ? (words as string[]) : undefined;
  } catch {
    return undefined;
  }
}
