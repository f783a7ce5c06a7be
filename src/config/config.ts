/**
 * Turns environment, arguments and the settings file into one frozen object, once, in an entry point. Everything else takes it, or
 * parts of it, as a value. Called by bin, scripts and tests only.
 */
import { readFileSync } from "node:fs";
import { isInContainer } from "../base/container.ts";
import { PalaceError } from "../base/errors.ts";
import type { ToolProfile } from "../protocol/spec.ts";
import { agentPlaces, roampalPlaces, sessionPlaces } from "./agents.ts";
import { parseEngine } from "./engine.ts";
import { type Env, isOn, readSetting, readVariable } from "./env.ts";
import { readFiling } from "./filing.ts";
import { namedCollection } from "./mempalace-config.ts";
import { handedOn, type Paths, resolvePaths } from "./paths.ts";
import { readSettings, type Settings } from "./settings.ts";

export type Config = ReturnType<typeof parseConfig>;
export type ChromaConfig = Config["chroma"];
export type ModelConfig = Config["model"];
export type ConfigOptions = { palace?: string | undefined };

/**
 * Reads the environment and, for what it does not set, the settings file. An unusable value of the file is a fault in
 * `settings` and counts as not set. Errors: CONFIG_BAD_VALUE, which names the variable and the values that it takes.
 */
export function loadConfig(env: Env, options: ConfigOptions = {}): Config {
  const paths = resolvePaths(env, options.palace);
  return parseConfig(readSettings(paths.home, env), paths, env);
}

function parseConfig(settings: Settings, paths: Paths, own: Env) {
  const { env } = settings;
  return Object.freeze({
    paths,
    /** Returns arguments and environment that lead another command of ours to the very same palace. */
    handedOn: () => handedOn(paths, own),
    /** The environment that this was read from; a broker that is started for this palace gets the same. */
    env: own,
    /** The settings file, and where each value comes from. */
    settings,
    ...clientConfig(env),
    ...doorsConfig(settings, own),
    ...brokerConfig(env, paths),
    ...storesConfig(env, paths),
    ...agentsConfig(env),
    logLevel: readSetting(env, "log-level"),
    fault: readVariable(env, "MEMPALACE_FAULT"),
  });
}

function clientConfig(env: Env) {
  return {
    /** Endpoint used verbatim; undefined: discovered. */
    endpoint: readVariable(env, "MEMPALACE_BROKER"),
    agentName: readVariable(env, "MEMPALACE_AGENT_NAME"),
    /** The agent's sandbox that this process says it runs in. */
    sandbox: sandboxOf(env),
    tools: toolProfile(env),
    /** Returns this client's token; undefined when there is none. Errors: CONFIG_BAD_VALUE. */
    token: () => readVariable(env, "MEMPALACE_TOKEN")?.trim() ?? tokenFromFile(env),
    /** The command that sshd passes on when a forced command replaced it. */
    sshCommand: readVariable(env, "SSH_ORIGINAL_COMMAND"),
  };
}

function doorsConfig({ env, fileOnly }: Settings, own: Env) {
  const read = (from: Env) => ({
    /** TCP door besides the socket. The host `docker` means the address that containers reach. */
    listen: readSetting(from, "listen"),
    /** Port of the door for programs that speak Roampal's HTTP API. */
    outcomePort: readSetting(from, "outcome-port"),
  });
  return {
    /** Doors that the environment asks for; the broker remembers them. Undefined: as the file says, else as last time. */
    ...read(own),
    /** Doors that the settings file asks for. */
    lastingDoors: read(fileOnly),
    /** Programs of this machine's own user need no token at `outcomePort`. */
    outcomeLocal: readSetting(env, "outcome-local"),
    allowedHosts: readSetting(env, "allowed-hosts"),
    /** Folders that agents on other machines may have mined. */
    mineRoots: readSetting(env, "mine-roots"),
  };
}

function brokerConfig(env: Env, paths: Paths) {
  const engine = readVariable(env, "MEMPALACE_ENGINE");
  return {
    idleExitMs: readSetting(env, "idle-exit-minutes") * 60_000,
    /** True when the user has vouched for the palace's mount. */
    trustMount: isOn(env, "MEMPALACE_TRUST_MOUNT"),
    topology: readVariable(env, "MEMPALACE_TOPOLOGY") ?? (isInContainer() ? "container-only-alone" : "native-only"),
    /** Undefined: as last time, else builtin. */
    engine: engine === undefined ? undefined : parseEngine(engine, env, paths),
    /** Parses an engine that was stored as text. Errors: as loadConfig. */
    parseEngine: (text: string | undefined) => parseEngine(text, env, paths),
    /** The most drawers that one mined file may become; 0: unlimited. */
    chunksMax: readSetting(env, "max-chunks-per-file"),
    /** How long the journal keeps its rows. */
    journalRetentionMs: readSetting(env, "audit-days") * 24 * 3_600_000,
    /** Masking of secrets in what agents receive. */
    redact: readSetting(env, "redact"),
    backup: {
      /** Folder of the scheduled backups; undefined: the broker only makes backups that are asked for. */
      dir: readSetting(env, "backup-dir"),
      hours: readSetting(env, "backup-hours"),
      keep: readSetting(env, "backup-keep"),
      /** Returns the passphrase of all backups; undefined: they are not encrypted. Errors: CONFIG_BAD_VALUE. */
      passphrase: (file = readSetting(env, "backup-passphrase-file")): string | undefined =>
        file === undefined ? readVariable(env, "MEMPALACE_BACKUP_PASSPHRASE") : firstLine(file),
    },
    /** Undefined: the broker connects directly. */
    proxy: proxySettings(env),
  };
}

function storesConfig(env: Env, { settingsDir, cacheDir }: Paths) {
  const hasChroma = readVariable(env, "MEMPALACE_CHROMA_URL") !== undefined;
  return {
    driver: readSetting(env, "driver", hasChroma ? "chroma" : "files"),
    /** Returns the name of the drawers' collection in the public palace. */
    collection: () => namedCollection(settingsDir),
    /** Returns the rules for cutting, sorting and linking drawers. */
    filing: () => readFiling(env, settingsDir),
    chroma: {
      url: readSetting(env, "chroma-url"),
      token: readVariable(env, "MEMPALACE_CHROMA_TOKEN"),
      tenant: readSetting(env, "chroma-tenant"),
      database: readSetting(env, "chroma-database"),
    },
    vectors: readSetting(env, "vectors"),
    model: {
      /** Folder named by the user, which is searched first, and that of the cross-encoder. */
      dir: readSetting(env, "model-dir"),
      rerankDir: readSetting(env, "rerank-dir"),
      /** Base address for the download; undefined: the model's public hub. */
      url: readSetting(env, "model-url"),
      offline: readSetting(env, "offline"),
      cacheDir: `${cacheDir}/models`,
      /** The user's home, which holds the files that Python's Chroma has already fetched. */
      userHome: readVariable(env, "HOME") ?? "/",
    },
  };
}

function agentsConfig(env: Env) {
  return {
    /** Folders of coding agents' sessions and settings. */
    sessions: sessionPlaces(env),
    agents: agentPlaces(env),
    ...roampalPlaces(env),
    /** Roampal's commands mean the memory of development. */
    isRoampalDev: /^(?:1|true|yes)$/i.test(readVariable(env, "ROAMPAL_DEV") ?? ""),
    /** Settings of the coding agents' hooks; upstream's config.json may add to them. */
    hooks: { autoSave: readSetting(env, "hooks-auto-save"), mineDir: readVariable(env, "MEMPAL_DIR") },
  };
}

/** The tools of outcome memory stand beside the palace's where that is on. Errors: CONFIG_BAD_VALUE. */
function toolProfile(env: Env): ToolProfile {
  const asked = readSetting(env, "tools");
  const hasOutcomes = readSetting(env, "outcomes") !== "off";
  return hasOutcomes && (asked === "full" || asked === "light") ? `${asked}+outcome` : asked;
}

/** Source of the variables: sandbox-runtime 0.0.83, Codex 0.146, Claude Code 2.1. */
function sandboxOf(env: Env): "claude-code" | "sandbox-runtime" | "codex" | undefined {
  if (readVariable(env, "CODEX_SANDBOX_NETWORK_DISABLED") !== undefined) return "codex";
  if (readVariable(env, "SANDBOX_RUNTIME") === undefined) return undefined;
  return readVariable(env, "CLAUDECODE") === undefined ? "sandbox-runtime" : "claude-code";
}

function tokenFromFile(env: Env): string | undefined {
  const file = readVariable(env, "MEMPALACE_TOKEN_FILE");
  return file === undefined ? undefined : readText(file, `MEMPALACE_TOKEN_FILE=${file}`).trim();
}

function firstLine(file: string): string {
  const [line = ""] = readText(file, `the passphrase file ${file}`).split(/\r?\n/);
  if (line !== "") return line;
  throw new PalaceError("CONFIG_BAD_VALUE", `the passphrase file ${file} has an empty first line`, "write one there");
}

function readText(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new PalaceError("CONFIG_BAD_VALUE", `${name} cannot be read`, `ls -l ${file}`, { cause });
  }
}

function proxySettings(env: Env): { https: string; except: string | undefined } | undefined {
  const https = readVariable(env, "https_proxy") ?? readVariable(env, "HTTPS_PROXY");
  const except = readVariable(env, "no_proxy") ?? readVariable(env, "NO_PROXY");
  return https === undefined ? undefined : { https, except };
}
