/**
 * Reads the variables of code that runs inside or beside an agent. An invalid value counts as not set: it must not break an
 * agent. Imports only env.ts and pi-folder.ts, because it is part of the files that are copied into agents' folders.
 */
import { type Env, readVariable, type VariableName } from "./env.ts";
import { piFolder } from "./pi-folder.ts";

/** The address of OpenAI's Chat Completions without its end, and a model there. */
export type JudgeSettings = Readonly<{ url: string; model: string; key: string | undefined }>;

export type HarnessSettings = Readonly<{
  wakeUp: boolean;
  /** Undefined: the whole palace. */
  wing: string | undefined;
  /** How long a turn of an agent waits for the memory. */
  turnMaxMs: number;
  /** Limit of an injected text, its fence included. */
  injectedMaxBytes: number;
  recall: boolean;
  /** Memory that learns from outcomes follows the conversation; `project`: it leaves out memories of other projects. */
  outcomes: "off" | "on" | "project";
  /** Judge of outcomes that an agent has not scored; if undefined, nobody judges them. */
  judge: JudgeSettings | undefined;
  agentName: string | undefined;
  /** Argument vectors; undefined: the program is looked for. */
  hookCommand: readonly string[] | undefined;
  mcpCommand: readonly string[] | undefined;
  /** 0 = no limit. */
  callTimeoutMs: number;
  startTimeoutMs: number;
  respawnsMax: number;
  respawnBackoffMs: number;
  isDebug: boolean;
  piDir: string;
}>;

export const OUTCOME_MODES = ["off", "on", "project"] as const;
const TURN_MS = { min: 100, usual: 1_000, max: 60_000 } as const;
const INJECTED_BYTES = { min: 512, usual: 4_096, max: 65_536 } as const;
/** The longest delay that a timer accepts. */
const NUMBER_MAX = 2 ** 31 - 1;

export function readHarness(env: Env): HarnessSettings {
  return Object.freeze({
    wakeUp: !isWord(env, "MEMPALACE_WAKE_UP", ["off", "0", "false", "no"]),
    wing: readVariable(env, "MEMPALACE_WAKE_UP_WING")?.trim(),
    turnMaxMs: within(env, "MEMPALACE_TURN_MAX_MS", TURN_MS),
    injectedMaxBytes: within(env, "MEMPALACE_WAKE_UP_BYTES", INJECTED_BYTES),
    recall: isWord(env, "MEMPALACE_RECALL", ["on", "1", "true", "yes"]),
    outcomes: OUTCOME_MODES.find((mode) => isWord(env, "MEMPALACE_OUTCOMES", [mode])) ?? "off",
    judge: readJudge(env),
    agentName: readVariable(env, "MEMPALACE_AGENT_NAME")?.trim(),
    hookCommand: command(env, "MEMPALACE_HOOK_COMMAND"),
    mcpCommand: command(env, "MEMPALACE_MCP_COMMAND"),
    callTimeoutMs: number(env, "MEMPALACE_MCP_TIMEOUT_MS", 60_000),
    startTimeoutMs: number(env, "MEMPALACE_MCP_INIT_TIMEOUT_MS", 300_000),
    respawnsMax: number(env, "MEMPALACE_MCP_MAX_RESPAWNS", 2),
    respawnBackoffMs: number(env, "MEMPALACE_MCP_RESPAWN_BACKOFF_MS", 1_000),
    isDebug: isWord(env, "MEMPALACE_EXT_DEBUG", ["1", "true", "yes", "on"]),
    piDir: piFolder(env, readVariable(env, "HOME") ?? ""),
  });
}

function readJudge(env: Env): JudgeSettings | undefined {
  const url = readVariable(env, "MEMPALACE_JUDGE_URL")?.trim() ?? "";
  const model = readVariable(env, "MEMPALACE_JUDGE_MODEL")?.trim() ?? "";
  const key = readVariable(env, "MEMPALACE_JUDGE_KEY")?.trim();
  return /^https?:\/\//.test(url) && URL.canParse(url) && model !== "" ? { url, model, key } : undefined;
}

function isWord(env: Env, name: VariableName, words: readonly string[]): boolean {
  return words.includes((readVariable(env, name) ?? "").trim().toLowerCase());
}

function number(env: Env, name: VariableName, usual: number): number {
  const value = readVariable(env, name)?.trim() ?? "";
  return /^\d{1,12}$/.test(value) ? Math.min(Number(value), NUMBER_MAX) : usual;
}

type Bounds = Readonly<{ min: number; usual: number; max: number }>;
function within(env: Env, name: VariableName, { min, usual, max }: Bounds): number {
  return Math.min(Math.max(number(env, name, usual), min), max);
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
