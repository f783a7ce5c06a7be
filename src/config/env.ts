/** Environment variables that we read, except those of settings (settings-table.ts). */
import { badValue } from "../base/errors.ts";
import {
  type Setting,
  SETTING_KEYS,
  type SettingKey,
  type SettingOf,
  SETTINGS,
  type SettingVariable,
  variableOf,
} from "./settings-table.ts";
import { SWITCH } from "./settings-value.ts";

type Group = "place" | "broker" | "client" | "harness" | "machine" | "traces" | "spelling";
type Variable = Readonly<{ group: Group; default: string; meaning: string }>;

/** Makes a row. `usual`: the default in words; empty if the variable has none. */
function variable(group: Group, usual = ""): { means: (meaning: string) => Variable } {
  return { means: (meaning) => ({ group, default: usual, meaning }) };
}

export const VARIABLES = {
  MEMPALACE_PATH: variable("place", "the home that MemPalace's rule finds, else ~/.mempalace").means(
    "Folder of the palace, with everything in it. For one command, use --palace DIR instead.",
  ),
  MEMPALACE_PALACE_PATH: variable("spelling").means(
    "a palace directory with a broker and a ledger of its own, unless it belongs to the home; its graph is ~/.mempalace/knowledge_graph.sqlite3 as MemPalace's",
  ),
  MEMPALACE_PALACE: variable("spelling").means("MEMPALACE_PALACE_PATH in MemPalace 3.11"),
  MEMPAL_PALACE_PATH: variable("spelling").means("MEMPALACE_PALACE_PATH in older versions"),
  MEMPALACE_CONFIG_DIR: variable("spelling").means("MemPalace's home, if MEMPALACE_PATH is not set"),
  MEMPAL_ENTITY_LANGUAGES: variable("spelling").means("entity-languages in older versions"),
  https_proxy: variable("spelling").means("HTTPS_PROXY; wins over it"),
  no_proxy: variable("spelling").means("NO_PROXY; wins over it"),
  XDG_RUNTIME_DIR: variable("place", "the cache folder").means("Folder for the socket."),
  XDG_STATE_HOME: variable("place", "~/.local/state").means("Folder for logs and markers."),
  XDG_CACHE_HOME: variable("place", "~/.cache").means("Folder for staging and models."),
  XDG_CONFIG_HOME: variable("place", "~/.config").means(
    "Folder where newer MemPalace installs keep their home, and where opencode keeps its settings.",
  ),
  XDG_DATA_HOME: variable("place", "~/.local/share").means("Folder where opencode has its data."),
  HOME: variable("place").means("The user's home."),
  MEMPALACE_BROKER: variable("client").means(
    "Address of the broker. If it is set, clients start no broker on this machine. unix:/path, http://host:port, or ssh://user@host[:port] for the bridge to that host (palace bridge setup).",
  ),
  MEMPALACE_TOKEN: variable("client").means("Token for a broker that clients reach over TCP."),
  MEMPALACE_TOKEN_FILE: variable("client").means("File that holds the token for a broker over TCP."),
  MEMPALACE_AGENT_NAME: variable("client", "the executable's name").means("Name of the agent in the journal."),
  CLAUDECODE: variable("client").means(
    "Set by Claude Code for its commands: an error about a refused socket names its sandbox.",
  ),
  SANDBOX_RUNTIME: variable("client").means(
    "Set by Claude Code's sandbox (sandbox-runtime): an error about a refused socket names it.",
  ),
  CODEX_SANDBOX_NETWORK_DISABLED: variable("client").means(
    "Set by Codex in its sandbox: an error about a refused socket names it.",
  ),
  MEMPALACE_BACKUP_PASSPHRASE: variable("client").means(
    "Passphrase of backups, for the backup and restore commands. It is not used if the setting backup-passphrase-file, or its variable MEMPALACE_BACKUP_PASSPHRASE_FILE, names a file.",
  ),
  MEMPALACE_JUDGE_KEY: variable("harness").means(
    "Bearer token that is sent to MEMPALACE_JUDGE_URL, and to no address of a settings file.",
  ),
  MEMPALACE_HOOK_COMMAND: variable("harness", "palace hook, beside the extension's package, else on the PATH").means(
    "Command that the pi extension and the opencode plugin run for wake-up text and filing: words or a JSON array.",
  ),
  MEMPALACE_MCP_COMMAND: variable("harness", "mempalace-mcp, beside the extension's package, else on the PATH").means(
    "MCP server whose tools the pi extension registers: words or a JSON array.",
  ),
  MEMPALACE_EXT_DEBUG: variable("harness").means(
    "If 1, the pi extension and the opencode plugin say on stderr what they do.",
  ),
  MEMPAL_DIR: variable("harness").means("Project that `mempalace hook run` mines as well."),
  OPENCODE_DB: variable("harness", "opencode.db in opencode's data folder").means(
    "opencode's database, for mempalace-session. A relative path is in opencode's data folder.",
  ),
  CLAUDE_CONFIG_DIR: variable("harness", "~/.claude").means(
    "Claude Code's folder, for mempalace-session and palace install.",
  ),
  PI_CODING_AGENT_DIR: variable("harness", "~/.pi/agent").means(
    "pi's folder, for mempalace-session and palace install.",
  ),
  ROAMPAL_DEV: variable("harness").means(
    "If 1, true or yes, roampal's commands use the development memory, as with --dev.",
  ),
  ROAMPAL_DATA_PATH: variable(
    "harness",
    "~/.local/share/roampal/data; on macOS ~/Library/Application Support/Roampal/data",
  ).means("Roampal's data folder, for palace outcome import."),
  MEMPALACE_TOPOLOGY: variable("broker", "native-only; in a container container-only-alone").means(
    "Name of the topology this broker serves, shown by status and doctor.",
  ),
  MEMPALACE_TRUST_MOUNT: variable("broker").means(
    "If 1, the broker also opens a palace on a shared folder where it cannot see the locks of other machines. Set it only for a palace that no other machine opens.",
  ),
  MEMPALACE_ENGINE: variable("broker", "the engine of the last start; at the first start builtin").means(
    "Program that answers tool calls: builtin, or command:ARGV, an MCP server that the broker runs as its child. ARGV is words or a JSON array. settings.json cannot set it, because a palace from elsewhere must not name a command to run.",
  ),
  MEMPALACE_CHROMA_TOKEN: variable("broker").means(
    "Token that the broker sends to MEMPALACE_CHROMA_URL as x-chroma-token, and to no address of a settings file.",
  ),
  HTTPS_PROXY: variable("machine").means(
    "Proxy, http://HOST:PORT, through which the broker reaches https addresses: the model's and Chroma's. If it inspects TLS, give Node its certificates with NODE_EXTRA_CA_CERTS. The lower-case name works too.",
  ),
  NO_PROXY: variable("machine").means(
    "Hosts, with commas between them, that the broker reaches without HTTPS_PROXY. The lower-case name works too.",
  ),
  PATH: variable("machine").means("Folders in which palace install looks for agents and for our own commands."),
  SSH_ORIGINAL_COMMAND: variable("machine").means(
    "Set by sshd for `palace gate`: the command that the key's holder asked for.",
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable("traces").means(
    "Collector of OpenTelemetry. If it is set, the broker and each agent's MCP server send spans there, as OTLP over HTTP with JSON.",
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: variable("spelling").means(
    "OTEL_EXPORTER_OTLP_ENDPOINT for traces alone, with its path; wins over it",
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: variable("traces").means(
    "If it is grpc, the endpoint does not take OTLP over HTTP, and no spans are sent.",
  ),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: variable("spelling").means(
    "OTEL_EXPORTER_OTLP_PROTOCOL for traces alone; wins over it",
  ),
  OTEL_TRACES_EXPORTER: variable("traces", "otlp").means("Any other value, such as none, turns tracing off."),
  OTEL_SDK_DISABLED: variable("traces").means("If true, tracing is off."),
  TRACEPARENT: variable("traces").means(
    "Span (W3C Trace Context) to which the calls of a command or hook belong. Ignored if it is malformed.",
  ),
  MEMPALACE_FAULT: variable("machine").means(
    "For tests only: NAME[:N] kills the broker at the step NAME of the write path.",
  ),
} satisfies Record<string, Variable>;

/** Secrets that the settings file must not contain, each with advice for the user. */
const SECRETS: Readonly<Record<string, string>> = {
  token: "write it into a file of your own (chmod 600), then: export MEMPALACE_TOKEN_FILE=FILE",
  "chroma-token": "export MEMPALACE_CHROMA_TOKEN=… where the broker is started",
  "judge-key": "export MEMPALACE_JUDGE_KEY=… where the agent is started",
  "backup-passphrase":
    "write it into a file of your own (chmod 600), then: palace config set backup-passphrase-file FILE",
};

/** Returns the advice for the secret `key`; undefined if `key` is not a secret. */
export function secretOf(key: string): string | undefined {
  return Object.hasOwn(SECRETS, key) ? SECRETS[key] : undefined;
}

export type VariableName = keyof typeof VARIABLES | SettingVariable;
export type Env = Readonly<Record<string, string | undefined>>;

export function variableNames(): VariableName[] {
  return [...(Object.keys(VARIABLES) as (keyof typeof VARIABLES)[]), ...SETTING_KEYS.map(variableOf)];
}

/** Lists NAME=value for a stored command, such as a forced command of sshd. Leaves out secrets and settings of a single client. */
export function lastingSettings(env: Env): string[] {
  const own = Object.entries(VARIABLES).flatMap(([name, { group }]) =>
    ["client", "harness", "traces"].includes(group) ? [name] : [],
  );
  const ofAgents = SETTING_KEYS.filter((key) => ["agents", "learning"].includes(SETTINGS[key].group)).map(variableOf);
  const notLasting = new Set<string>([
    ...["HOME", "PATH", "XDG_DATA_HOME", "SSH_ORIGINAL_COMMAND", "MEMPALACE_FAULT", "MEMPALACE_CHROMA_TOKEN"],
    ...["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"],
    ...["MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH", ...own, ...ofAgents],
  ]);
  return variableNames().flatMap((name) => {
    const value = notLasting.has(name) ? undefined : readVariable(env, name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
}

/** Reads a variable; an empty one counts as not set. */
export function readVariable(env: Env, name: VariableName): string | undefined {
  const value = env[name];
  return value === undefined || value.trim() === "" ? undefined : value;
}

/** Reads the variable of a setting, or returns `usual` if it is not set. Errors: CONFIG_BAD_VALUE, with an example of a valid value. */
export function readSetting<K extends SettingKey>(
  env: Env,
  key: K,
  usual: SettingOf<K> = SETTINGS[key].default,
): SettingOf<K> {
  const name = variableOf(key);
  const { kind } = SETTINGS[key] as Setting<SettingOf<K>>;
  const text = readVariable(env, name);
  const value = text === undefined ? usual : kind.read(text);
  if (value !== undefined || text === undefined) return value;
  if (kind.refusal === undefined) return usual;
  const good = kind.exported ?? (usual === undefined ? kind.example : String(usual));
  throw badValue(`${name}=${text} is ${kind.refusal}`, `export ${name}=${good}`);
}

/** Reads a setting for code inside an agent, which must not fail: a bad value counts as not set. */
export function usableSetting<K extends SettingKey>(env: Env, key: K): SettingOf<K> {
  try {
    return readSetting(env, key);
  } catch {
    return SETTINGS[key].default;
  }
}

export function isOn(env: Env, name: VariableName): boolean {
  return SWITCH.read(readVariable(env, name) ?? "") ?? false;
}
