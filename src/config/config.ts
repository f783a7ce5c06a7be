/** Makes one frozen object from the environment, the arguments and the settings file. Each entry point calls it once. */
import { readFileSync } from "node:fs";
import { isInContainer } from "../base/container.ts";
import { badValue } from "../base/errors.ts";
import type { ToolProfile } from "../protocol/headers.ts";
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

/** A bad value in the file counts as not set and becomes a fault in `settings`. Errors: CONFIG_BAD_VALUE for a bad variable. */
export function loadConfig(env: Env, options: ConfigOptions = {}): Config {
  const paths = resolvePaths(env, options.palace);
  return parseConfig(readSettings(paths.home, env), paths, env);
}

function parseConfig(settings: Settings, paths: Paths, own: Env) {
  const { env } = settings;
  return Object.freeze({
    paths,
    handedOn: () => handedOn(paths, own),
    /** Environment without the settings file's values. A broker that is started for this palace gets this environment. */
    env: own,
    settings,
    ...clientConfig(env),
    ...doorsConfig(settings, own),
    ...brokerConfig(env, paths),
    ...storesConfig(env, paths),
    ...agentsConfig(env),
    logLevel: readSetting(env, "log-level"),
    fault: readVariable(env, "MEMPALACE_FAULT"),
    tracing: tracing(env),
    /** Parent span of this process's calls. */
    traceparent: readVariable(env, "TRACEPARENT"),
  });
}

function clientConfig(env: Env) {
  return {
    /** Address of the broker as the user gave it. Undefined: the client finds the broker itself. */
    endpoint: readVariable(env, "MEMPALACE_BROKER"),
    agentName: readVariable(env, "MEMPALACE_AGENT_NAME"),
    sandbox: sandboxOf(env),
    tools: toolProfile(env),
    /** Returns this client's token, if it has one. Errors: CONFIG_BAD_VALUE for an unreadable token file. */
    token: () => readVariable(env, "MEMPALACE_TOKEN")?.trim() ?? tokenFromFile(env),
    /** Command that the SSH client requested. sshd passes it in this variable if it runs a forced command instead. */
    sshCommand: readVariable(env, "SSH_ORIGINAL_COMMAND"),
  };
}

function doorsConfig({ env, fileOnly }: Settings, own: Env) {
  const read = (from: Env) => ({
    /** TCP address to listen on besides the socket. The host `docker` means an address that containers can reach. */
    listen: readSetting(from, "listen"),
    /** Port of the door for programs that speak Roampal's HTTP API. */
    outcomePort: readSetting(from, "outcome-port"),
  });
  return {
    /** Doors from environment variables. The broker stores them for later starts without these variables. */
    ...read(own),
    /** Doors from the settings file. */
    lastingDoors: read(fileOnly),
    outcomeLocal: readSetting(env, "outcome-local"),
    allowedHosts: readSetting(env, "allowed-hosts"),
    mineRoots: readSetting(env, "mine-roots"),
  };
}

function brokerConfig(env: Env, paths: Paths) {
  const engine = readVariable(env, "MEMPALACE_ENGINE");
  return {
    idleExitMs: readSetting(env, "idle-exit-minutes") * 60_000,
    /** True if the user guarantees that no other machine opens this palace on a shared folder. */
    trustMount: isOn(env, "MEMPALACE_TRUST_MOUNT"),
    topology: readVariable(env, "MEMPALACE_TOPOLOGY") ?? (isInContainer() ? "container-only-alone" : "native-only"),
    /** Engine in the environment. Undefined: the engine of the last start, or builtin at the first start. */
    engine: engine === undefined ? undefined : parseEngine(engine, env, paths),
    /** Parses the engine that the broker stored. Errors: CONFIG_BAD_VALUE. */
    parseEngine: (text: string | undefined) => parseEngine(text, env, paths),
    /** Maximum number of drawers of one mined file; 0 means unlimited. */
    chunksMax: readSetting(env, "max-chunks-per-file"),
    journalRetentionMs: readSetting(env, "audit-days") * 24 * 3_600_000,
    redact: readSetting(env, "redact"),
    backup: {
      /** Folder of the scheduled backups. Undefined: the broker makes backups only on request. */
      dir: readSetting(env, "backup-dir"),
      hours: readSetting(env, "backup-hours"),
      keep: readSetting(env, "backup-keep"),
      /** Returns the passphrase of all backups. Undefined: backups are not encrypted. Errors: CONFIG_BAD_VALUE. */
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
    collection: () => namedCollection(settingsDir),
    filing: () => readFiling(env, settingsDir),
    chroma: {
      url: readSetting(env, "chroma-url"),
      token: readVariable(env, "MEMPALACE_CHROMA_TOKEN"),
      tenant: readSetting(env, "chroma-tenant"),
      database: readSetting(env, "chroma-database"),
    },
    vectors: readSetting(env, "vectors"),
    model: {
      /** Folder of the user's own model, in which the broker looks first. */
      dir: readSetting(env, "model-dir"),
      rerankDir: readSetting(env, "rerank-dir"),
      /** Base URL of the download. Undefined: the model's public hub. */
      url: readSetting(env, "model-url"),
      offline: readSetting(env, "offline"),
      cacheDir: `${cacheDir}/models`,
      /** The user's home, which may have model files that Python's Chroma has downloaded. */
      userHome: readVariable(env, "HOME") ?? "/",
    },
  };
}

function agentsConfig(env: Env) {
  return {
    sessions: sessionPlaces(env),
    agents: agentPlaces(env),
    ...roampalPlaces(env),
    isRoampalDev: /^(?:1|true|yes)$/i.test(readVariable(env, "ROAMPAL_DEV") ?? ""),
    /** `autoSave`: if true, hooks.auto_save in upstream's config.json decides. */
    hooks: { autoSave: readSetting(env, "hooks-auto-save"), mineDir: readVariable(env, "MEMPAL_DIR") },
  };
}

/** Returns the tools to list. Adds the tools of outcome memory if `outcomes` is on. Errors: CONFIG_BAD_VALUE. */
function toolProfile(env: Env): ToolProfile {
  const asked = readSetting(env, "tools");
  const hasOutcomes = readSetting(env, "outcomes") !== "off";
  return hasOutcomes && (asked === "full" || asked === "light") ? `${asked}+outcome` : asked;
}

/** Reads the agent's sandbox from its variables. Source: sandbox-runtime 0.0.83, Codex 0.146, Claude Code 2.1. */
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
  throw badValue(`the passphrase file ${file} has an empty first line`, "write one there");
}

function readText(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw badValue(`${name} cannot be read`, `ls -l ${file}`, cause);
  }
}

function proxySettings(env: Env): { https: string; except: string | undefined } | undefined {
  const https = readVariable(env, "https_proxy") ?? readVariable(env, "HTTPS_PROXY");
  const except = readVariable(env, "no_proxy") ?? readVariable(env, "NO_PROXY");
  return https === undefined ? undefined : { https, except };
}

/** Returns whether this process sends spans. `grpc`: it sends none, because the variables ask for gRPC, which we do not support. */
function tracing(env: Env): "on" | "off" | "grpc" {
  const ofTraces = readVariable(env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if ((ofTraces ?? readVariable(env, "OTEL_EXPORTER_OTLP_ENDPOINT")) === undefined) return "off";
  if (readVariable(env, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return "off";
  if ((readVariable(env, "OTEL_TRACES_EXPORTER") ?? "otlp") !== "otlp") return "off";
  const ownProtocol = readVariable(env, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
  return (ownProtocol ?? readVariable(env, "OTEL_EXPORTER_OTLP_PROTOCOL")) === "grpc" ? "grpc" : "on";
}
