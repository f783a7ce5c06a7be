/**
 * The environment variables that we read beside those of settings (settings-table.ts). docs/reference/settings.md is made
 * from both tables, and a house test holds that nothing else in src reads `process.env`. Imported by the files beside it and
 * by scripts/docs.ts.
 */
import { SETTING_KEYS, SETTINGS, type SettingVariable, variableOf } from "./settings-table.ts";

type Variable = {
  meaning: string;
  default: string;
  group: "place" | "broker" | "client" | "harness" | "machine" | "spelling";
};

export const VARIABLES = {
  MEMPALACE_PATH: {
    group: "place",
    default: "the home that MemPalace's rule finds, else ~/.mempalace",
    meaning: "Folder of the palace, with everything in it. For one command, use --palace DIR instead.",
  },
  // These name a palace, too. MEMPALACE_CONFIG_DIR is upstream's home, when MEMPALACE_PATH is not set.
  MEMPALACE_PALACE_PATH: {
    group: "spelling",
    default: "",
    meaning:
      "a palace directory with a broker and a ledger of its own, unless it belongs to the home; its graph is ~/.mempalace/knowledge_graph.sqlite3 as MemPalace's",
  },
  MEMPALACE_PALACE: { group: "spelling", default: "", meaning: "MEMPALACE_PALACE_PATH in MemPalace 3.11" },
  MEMPAL_PALACE_PATH: { group: "spelling", default: "", meaning: "MEMPALACE_PALACE_PATH in older versions" },
  MEMPALACE_CONFIG_DIR: {
    group: "spelling",
    default: "",
    meaning: "MemPalace's home, where MEMPALACE_PATH is not set",
  },
  MEMPAL_ENTITY_LANGUAGES: { group: "spelling", default: "", meaning: "entity-languages in older versions" },
  https_proxy: { group: "spelling", default: "", meaning: "HTTPS_PROXY; wins over it" },
  no_proxy: { group: "spelling", default: "", meaning: "NO_PROXY; wins over it" },
  XDG_RUNTIME_DIR: { group: "place", default: "the cache folder", meaning: "Folder for the socket." },
  XDG_STATE_HOME: { group: "place", default: "~/.local/state", meaning: "Folder for logs and markers." },
  XDG_CACHE_HOME: { group: "place", default: "~/.cache", meaning: "Folder for staging and models." },
  XDG_CONFIG_HOME: {
    group: "place",
    default: "~/.config",
    meaning: "Folder where newer MemPalace installs keep their home, and opencode its settings.",
  },
  XDG_DATA_HOME: { group: "place", default: "~/.local/share", meaning: "Folder where opencode has its data." },
  HOME: { group: "place", default: "", meaning: "The user's home." },
  MEMPALACE_BROKER: {
    group: "client",
    default: "",
    meaning:
      "Address of the broker. If it is set, clients start no broker on this machine. unix:/path, http://host:port, or ssh://user@host[:port] for the bridge to that host (palace bridge setup).",
  },
  MEMPALACE_TOKEN: { group: "client", default: "", meaning: "Token for a broker that clients reach over TCP." },
  MEMPALACE_TOKEN_FILE: { group: "client", default: "", meaning: "File that holds the token for a broker over TCP." },
  MEMPALACE_AGENT_NAME: {
    group: "client",
    default: "the executable's name",
    meaning: "Name of the agent in the journal.",
  },
  CLAUDECODE: {
    group: "client",
    default: "",
    meaning: "Claude Code sets it for its commands; a refused socket is then explained by its sandbox.",
  },
  SANDBOX_RUNTIME: {
    group: "client",
    default: "",
    meaning: "Claude Code's sandbox (sandbox-runtime) sets it; a refused socket is then explained by it.",
  },
  CODEX_SANDBOX_NETWORK_DISABLED: {
    group: "client",
    default: "",
    meaning: "Codex sets it in its sandbox; a refused socket is then explained by it.",
  },
  MEMPALACE_BACKUP_PASSPHRASE: {
    group: "client",
    default: "",
    meaning:
      "Passphrase of backups, for the backup and restore commands. It is not used if the setting backup-passphrase-file, or its variable MEMPALACE_BACKUP_PASSPHRASE_FILE, names a file.",
  },
  MEMPALACE_JUDGE_KEY: {
    group: "harness",
    default: "",
    meaning: "Bearer token that is sent to MEMPALACE_JUDGE_URL, and to no address of a settings file.",
  },
  MEMPALACE_HOOK_COMMAND: {
    group: "harness",
    default: "palace hook, beside the extension's package, else on the PATH",
    meaning:
      "Command that the pi extension and the opencode plugin run for wake-up text and filing: words or a JSON array.",
  },
  MEMPALACE_MCP_COMMAND: {
    group: "harness",
    default: "mempalace-mcp, beside the extension's package, else on the PATH",
    meaning: "MCP server whose tools the pi extension registers: words or a JSON array.",
  },
  MEMPALACE_EXT_DEBUG: {
    group: "harness",
    default: "",
    meaning: "If 1, the pi extension and the opencode plugin say on stderr what they do.",
  },
  MEMPAL_DIR: { group: "harness", default: "", meaning: "Project that `mempalace hook run` mines as well." },
  OPENCODE_DB: {
    group: "harness",
    default: "opencode.db in opencode's data folder",
    meaning: "opencode's database, for mempalace-session. A relative path is in opencode's data folder.",
  },
  CLAUDE_CONFIG_DIR: {
    group: "harness",
    default: "~/.claude",
    meaning: "Claude Code's folder, for mempalace-session and palace install.",
  },
  PI_CODING_AGENT_DIR: {
    group: "harness",
    default: "~/.pi/agent",
    meaning: "pi's folder, for mempalace-session and palace install.",
  },
  ROAMPAL_DEV: {
    group: "harness",
    default: "",
    meaning: "If 1, true or yes, roampal's commands use the development memory, as with --dev.",
  },
  ROAMPAL_DATA_PATH: {
    group: "harness",
    default: "~/.local/share/roampal/data; on macOS ~/Library/Application Support/Roampal/data",
    meaning: "Roampal's data folder, for palace outcome import.",
  },
  MEMPALACE_TOPOLOGY: {
    group: "broker",
    default: "native-only; in a container container-only-alone",
    meaning: "Name of the topology this broker serves, shown by status and doctor.",
  },
  MEMPALACE_TRUST_MOUNT: {
    group: "broker",
    default: "",
    meaning:
      "If 1, the broker also opens a palace on a shared folder where it cannot see the locks of other machines. Set it only for a palace that no other machine opens.",
  },
  MEMPALACE_ENGINE: {
    group: "broker",
    default: "the engine of the last time, at first builtin",
    meaning:
      "Program that answers tool calls: builtin, or command:ARGV, an MCP server that the broker runs as its child. ARGV is words or a JSON array. settings.json cannot set it, because a palace from elsewhere must not name a command to run.",
  },
  MEMPALACE_CHROMA_TOKEN: {
    group: "broker",
    default: "",
    meaning:
      "Token that the broker sends to MEMPALACE_CHROMA_URL as x-chroma-token, and to no address of a settings file.",
  },
  HTTPS_PROXY: {
    group: "machine",
    default: "",
    meaning:
      "Proxy, http://HOST:PORT, through which the broker reaches https addresses: the model's and Chroma's. If it inspects TLS, give Node its certificates with NODE_EXTRA_CA_CERTS. The lower-case name works too.",
  },
  NO_PROXY: {
    group: "machine",
    default: "",
    meaning:
      "Hosts, with commas between them, that the broker reaches without HTTPS_PROXY. The lower-case name works too.",
  },
  PATH: {
    group: "machine",
    default: "",
    meaning: "Folders in which palace install looks for agents and for our own commands.",
  },
  SSH_ORIGINAL_COMMAND: {
    group: "machine",
    default: "",
    meaning: "Set by sshd for `palace gate`: the command that the key's holder asked for.",
  },
  MEMPALACE_FAULT: {
    group: "machine",
    default: "",
    meaning: "For tests only: NAME[:N] kills the broker at the step NAME of the write path.",
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES | SettingVariable;
export type Env = Readonly<Record<string, string | undefined>>;

/** Lists every variable that is read, those of settings included. */
export function variableNames(): VariableName[] {
  return [...(Object.keys(VARIABLES) as (keyof typeof VARIABLES)[]), ...SETTING_KEYS.map(variableOf)];
}

/**
 * Lists NAME=value for the variables that decide which palace and broker is used, without secrets and settings of a single
 * client.
 */
export function lastingSettings(env: Env): string[] {
  const own = Object.entries(VARIABLES).flatMap(([name, { group }]) =>
    ["client", "harness"].includes(group) ? [name] : [],
  );
  const ofAgents = SETTING_KEYS.filter((key) => ["agents", "learning"].includes(SETTINGS[key].group)).map(variableOf);
  const notLasting = new Set<string>([
    ...["HOME", "PATH", "XDG_DATA_HOME", "SSH_ORIGINAL_COMMAND", "MEMPALACE_FAULT", "MEMPALACE_CHROMA_TOKEN"],
    ...["MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH", ...own, ...ofAgents],
  ]);
  return variableNames().flatMap((name) => {
    const value = notLasting.has(name) ? undefined : readVariable(env, name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
}

/** Reads one listed variable; empty counts as not set. */
export function readVariable(env: Env, name: VariableName): string | undefined {
  const value = env[name];
  return value === undefined || value.trim() === "" ? undefined : value;
}
