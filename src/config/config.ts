/**
 * Turns environment and arguments into one frozen object, once, in an entry point. Everything else takes it, or parts of
 * it, as a value. Called by bin, scripts and tests only.
 */
import { readFileSync } from "node:fs";
import { isInContainer } from "../base/container.ts";
import { LOG_LEVELS, type LogLevel } from "../base/log.ts";
import { PalaceError } from "../base/errors.ts";
import { IDEMPOTENCY_KEPT_MS } from "../protocol/limits.ts";
import { TOOL_PROFILES, type ToolProfile } from "../protocol/spec.ts";
import { type AgentPlaces, agentPlaces } from "./agents.ts";
import { type BackupConfig, readBackup } from "./backup.ts";
import { type EngineConfig, parseEngine } from "./engine.ts";
import { type Env, readVariable, type VariableName } from "./env.ts";
import { type FilingSettings, readFiling } from "./filing.ts";
import { OUTCOME_MODES } from "./harness.ts";
import { handedOn, type Paths, resolvePaths } from "./paths.ts";
import type { ProxySettings } from "../base/proxy.ts";
import { type SessionPlaces, sessionPlaces } from "./sessions.ts";
import { type Doors, readDoors } from "./doors.ts";
import type { Fault } from "./settings-file.ts";
import { type SettingKey, variableOf } from "./settings-table.ts";
import type { SettingValue } from "./settings-value.ts";
import { readSettings, type Settings, useFile } from "./settings.ts";
import { namedCollection } from "./upstream-settings.ts";

export type ChromaConfig = Readonly<{ url: string; token: string | undefined; tenant: string; database: string }>;

export type ModelConfig = Readonly<{
  /** Folder named by the user, which is searched first. */
  dir: string | undefined;
  /** Folder of the cross-encoder, named by the user. */
  rerankDir: string | undefined;
  /** Base address for the download; undefined = the model's public hub. */
  url: string | undefined;
  offline: boolean;
  cacheDir: string;
  /** The user's home, which holds the files that Python's Chroma has already fetched. */
  userHome: string;
}>;

export type Sandbox = "claude-code" | "sandbox-runtime" | "codex";

export type Config = Readonly<{
  paths: Paths;
  /** Arguments and environment that lead another command of ours to the very same palace. */
  handedOn: () => { palace: string[]; env: Env };
  /** The environment that this was read from; a broker that is started for this palace gets the same. */
  env: Env;
  /** The settings file, and where each value comes from. */
  settings: Settings;
  /** Endpoint used verbatim; undefined: discovered. */
  endpoint: string | undefined;
  agentName: string | undefined;
  /** The agent's sandbox that this process says it runs in. */
  sandbox: Sandbox | undefined;
  tools: ToolProfile;
  /** Doors that the environment asks for; the broker remembers them. Undefined: as the file says, else as last time. */
  listen: Doors["listen"];
  outcomePort: Doors["outcomePort"];
  /** Programs of this machine's own user need no token at `outcomePort`. */
  outcomeLocal: boolean;
  /** Doors that the settings file asks for. */
  lastingDoors: Doors;
  allowedHosts: readonly string[];
  /** Folders that agents on other machines may have mined. */
  mineRoots: readonly string[];
  /** The most drawers that one mined file may become; 0: unlimited. */
  chunksMax: number;
  /** This client's token, read lazily; undefined when there is none. Errors: CONFIG_BAD_VALUE. */
  token: () => string | undefined;
  idleExitMs: number;
  /** True when the user has vouched for the palace's mount. */
  trustMount: boolean;
  topology: string;
  /** Undefined: as last time, else builtin. */
  engine: EngineConfig | undefined;
  /** Parses an engine that was stored as text. Errors: as loadConfig. */
  parseEngine: (text: string | undefined) => EngineConfig;
  driver: "none" | "files" | "chroma";
  /** Name of the drawers' collection in the public palace, read lazily. */
  collection: () => string;
  /** Rules for cutting, sorting and linking drawers, read lazily. */
  filing: () => FilingSettings;
  chroma: ChromaConfig;
  vectors: "local" | "chroma";
  model: ModelConfig;
  /** Undefined: the broker connects directly. */
  proxy: ProxySettings | undefined;
  /** Folders of coding agents' sessions. */
  sessions: SessionPlaces;
  /** Folders of coding agents' settings. */
  agents: AgentPlaces;
  /** Roampal's data folder, which need not be there. */
  roampalDir: string;
  /** Folder of Roampal's settings, with its profiles. */
  roampalSettings: string;
  /** Roampal's commands mean the memory of development. */
  isRoampalDev: boolean;
  /** Settings of the coding agents' hooks; upstream's config.json may add to them. */
  hooks: Readonly<{ autoSave: boolean; mineDir: string | undefined }>;
  /** Masking of secrets in what agents receive. */
  redact: (typeof REDACT)[number];
  /** How long the journal keeps its rows. */
  journalRetentionMs: number;
  backup: BackupConfig;
  logLevel: LogLevel;
  /** The command that sshd passes on when a forced command replaced it. */
  sshCommand: string | undefined;
  fault: string | undefined;
}>;

const DAY_MS = 24 * 3_600_000;
const AUDIT_DAYS = 90;
const CHUNKS_MAX = 50_000;

/** The modes of memory/text/redact.ts. */
const REDACT = ["off", "recall", "strict"] as const;

export type ConfigOptions = { palace?: string | undefined };

/** The tools of outcome memory stand beside the palace's where that is on. Errors: CONFIG_BAD_VALUE. */
function toolProfile(env: Env): ToolProfile {
  const asked = choice(env, "MEMPALACE_TOOLS", TOOL_PROFILES, "full");
  const isOn = choice(env, "MEMPALACE_OUTCOMES", OUTCOME_MODES, "off") !== "off";
  return isOn && (asked === "full" || asked === "light") ? `${asked}+outcome` : asked;
}

/**
 * Reads the environment and, for what it does not set, the settings file. An unusable value of the file is a fault in
 * `settings` and counts as not set. Errors: CONFIG_BAD_VALUE, which names the variable and the values that it takes.
 */
export function loadConfig(env: Env, options: ConfigOptions = {}): Config {
  const paths = resolvePaths(env, options.palace);
  return readSettings(paths.home, env, (settings) => parseConfig(settings, paths, env));
}

/** Returns why this value of a key cannot be used; empty: it can. */
export function faultsWith({ paths, env, settings }: Config, key: SettingKey, value: SettingValue): readonly Fault[] {
  const { [variableOf(key)]: _own, ...others } = env;
  const file = { ...settings.file, values: new Map([[key, value]]), faults: [] };
  return useFile(file, others, (tried) => parseConfig(tried, paths, others)).settings.faults;
}

function parseConfig(settings: Settings, paths: Paths, own: Env): Config {
  const { env } = settings;
  const doors = readDoors(own);
  const chromaUrl = readVariable(env, "MEMPALACE_CHROMA_URL");
  const engine = readVariable(env, "MEMPALACE_ENGINE");
  return Object.freeze({
    paths,
    handedOn: () => handedOn(paths, own),
    env: own,
    settings,
    endpoint: readVariable(env, "MEMPALACE_BROKER"),
    agentName: readVariable(env, "MEMPALACE_AGENT_NAME"),
    sandbox: sandboxOf(env),
    tools: toolProfile(env),
    ...{ ...doors, outcomeLocal: flag(env, "MEMPALACE_OUTCOME_LOCAL") },
    lastingDoors: readDoors(settings.fileOnly),
    allowedHosts: list(env, "MEMPALACE_ALLOWED_HOSTS", ","),
    chunksMax: chunksMax(env),
    mineRoots: list(env, "MEMPALACE_MINE_ROOTS", ":"),
    token: () => readVariable(env, "MEMPALACE_TOKEN")?.trim() ?? tokenFromFile(env),
    idleExitMs: count(env, "MEMPALACE_IDLE_EXIT_MINUTES", 30) * 60_000,
    trustMount: flag(env, "MEMPALACE_TRUST_MOUNT"),
    topology: readVariable(env, "MEMPALACE_TOPOLOGY") ?? (isInContainer() ? "container-only-alone" : "native-only"),
    engine: engine === undefined ? undefined : parseEngine(engine, env, paths),
    parseEngine: (text) => parseEngine(text, env, paths),
    driver: choice(env, "MEMPALACE_DRIVER", ["none", "files", "chroma"], chromaUrl === undefined ? "files" : "chroma"),
    collection: () => namedCollection(paths.settingsDir),
    filing: () => readFiling(env, paths.settingsDir),
    chroma: {
      url: chromaUrl ?? "http://127.0.0.1:8000",
      token: readVariable(env, "MEMPALACE_CHROMA_TOKEN"),
      tenant: readVariable(env, "MEMPALACE_CHROMA_TENANT") ?? "default_tenant",
      database: readVariable(env, "MEMPALACE_CHROMA_DATABASE") ?? "default_database",
    },
    vectors: choice(env, "MEMPALACE_VECTORS", ["local", "chroma"], "local"),
    model: {
      dir: readVariable(env, "MEMPALACE_MODEL_DIR"),
      rerankDir: readVariable(env, "MEMPALACE_RERANK_DIR"),
      url: readVariable(env, "MEMPALACE_MODEL_URL"),
      offline: flag(env, "MEMPALACE_OFFLINE"),
      cacheDir: `${paths.cacheDir}/models`,
      userHome: readVariable(env, "HOME") ?? "/",
    },
    proxy: proxySettings(env),
    sessions: sessionPlaces(env),
    agents: agentPlaces(env),
    ...{ roampalDir: roampalDir(env), roampalSettings: roampalSettings(env) },
    isRoampalDev: /^(?:1|true|yes)$/i.test(readVariable(env, "ROAMPAL_DEV") ?? ""),
    hooks: {
      autoSave: !["false", "0", "no"].includes((readVariable(env, "MEMPALACE_HOOKS_AUTO_SAVE") ?? "").toLowerCase()),
      mineDir: readVariable(env, "MEMPAL_DIR"),
    },
    journalRetentionMs: journalRetentionMs(env),
    backup: readBackup(env),
    redact: choice(env, "MEMPALACE_REDACT", REDACT, "recall"),
    logLevel: choice(env, "MEMPALACE_LOG_LEVEL", LOG_LEVELS, "info"),
    sshCommand: readVariable(env, "SSH_ORIGINAL_COMMAND"),
    fault: readVariable(env, "MEMPALACE_FAULT"),
  });
}

/** Source of the variables: sandbox-runtime 0.0.83, Codex 0.146, Claude Code 2.1. */
function sandboxOf(env: Env): Sandbox | undefined {
  if (readVariable(env, "CODEX_SANDBOX_NETWORK_DISABLED") !== undefined) return "codex";
  if (readVariable(env, "SANDBOX_RUNTIME") === undefined) return undefined;
  return readVariable(env, "CLAUDECODE") === undefined ? "sandbox-runtime" : "claude-code";
}

/** Source: outcome-memory.md 4.2. */
function roampalDir(env: Env): string {
  const usual =
    process.platform === "darwin" ? "Library/Application Support/Roampal/data" : ".local/share/roampal/data";
  return readVariable(env, "ROAMPAL_DATA_PATH") ?? `${readVariable(env, "HOME") ?? ""}/${usual}`;
}

/** Source: roampal 0.6.0, `_config_dir` in its profile_manager.py. */
function roampalSettings(env: Env): string {
  const home = readVariable(env, "HOME") ?? "";
  if (process.platform === "darwin") return `${home}/Library/Application Support/Roampal`;
  return `${readVariable(env, "XDG_CONFIG_HOME") ?? `${home}/.config`}/roampal`;
}

/** Parses as upstream does: an invalid number counts as not set. */
function chunksMax(env: Env): number {
  const value = readVariable(env, "MEMPALACE_MAX_CHUNKS_PER_FILE")?.trim() ?? "";
  return /^\+?\d{1,15}$/.test(value) ? Number(value) : CHUNKS_MAX;
}

function tokenFromFile(env: Env): string | undefined {
  const file = readVariable(env, "MEMPALACE_TOKEN_FILE");
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new PalaceError("CONFIG_BAD_VALUE", `MEMPALACE_TOKEN_FILE=${file} cannot be read`, `ls -l ${file}`, {
      cause,
    });
  }
}

/** The journal must outlive the time in which a repeated key is recognised. */
function journalRetentionMs(env: Env): number {
  const value = readVariable(env, "MEMPALACE_AUDIT_DAYS");
  if (value === undefined) return AUDIT_DAYS * DAY_MS;
  const days = Number(value);
  if (Number.isFinite(days) && days * DAY_MS >= IDEMPOTENCY_KEPT_MS) return days * DAY_MS;
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `MEMPALACE_AUDIT_DAYS=${value} is not a number of at least ${IDEMPOTENCY_KEPT_MS / DAY_MS} days`,
    `export MEMPALACE_AUDIT_DAYS=${AUDIT_DAYS}`,
  );
}

function list(env: Env, name: VariableName, separator: string): string[] {
  const parts = (readVariable(env, name) ?? "").split(separator);
  return parts.map((part) => part.trim()).filter(Boolean);
}

function flag(env: Env, name: VariableName): boolean {
  return ["1", "true", "yes", "on"].includes((readVariable(env, name) ?? "").toLowerCase());
}

function choice<const T extends string>(env: Env, name: VariableName, allowed: readonly T[], fallback: T): T {
  const value = readVariable(env, name);
  if (value === undefined) return fallback;
  const found = allowed.find((one) => one === value);
  if (found !== undefined) return found;
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `${name}=${value} is not one of ${allowed.join(", ")}`,
    `export ${name}=${fallback}`,
  );
}

function count(env: Env, name: VariableName, fallback: number): number {
  const value = readVariable(env, name);
  if (value === undefined) return fallback;
  const number = Number(value);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `${name}=${value} is not a number of minutes`,
    `export ${name}=${fallback}`,
  );
}

function proxySettings(env: Env): ProxySettings | undefined {
  const https = readVariable(env, "https_proxy") ?? readVariable(env, "HTTPS_PROXY");
  const except = readVariable(env, "no_proxy") ?? readVariable(env, "NO_PROXY");
  return https === undefined ? undefined : { https, except };
}
