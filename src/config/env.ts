/**
 * The one list of environment variables we read. docs/reference/settings.md is generated from it and a house test holds that
 * nothing else in src reads `process.env`. Imported by config.ts and the documentation script only.
 */
type Variable = {
  meaning: string;
  default: string;
  group: "place" | "broker" | "search" | "client" | "harness" | "upstream" | "test";
};

export const VARIABLES = {
  MEMPALACE_PATH: {
    group: "place",
    default: "the home upstream's rule finds, else ~/.mempalace",
    meaning: "home of everything",
  },
  MEMPALACE_PALACE_PATH: {
    group: "upstream",
    default: "",
    meaning:
      "palace directory, with a broker and ledger of its own in it, but for the one that belongs to the home; its graph is ~/.mempalace/knowledge_graph.sqlite3 as upstream's, only --palace puts it into the folder",
  },
  MEMPALACE_PALACE: { group: "upstream", default: "", meaning: "short spelling of MEMPALACE_PALACE_PATH, of 3.11" },
  MEMPAL_PALACE_PATH: { group: "upstream", default: "", meaning: "older spelling of MEMPALACE_PALACE_PATH" },
  MEMPALACE_HOOKS_AUTO_SAVE: {
    group: "upstream",
    default: "true",
    meaning:
      "`false`: `mempalace hook run` does nothing and `palace hook` files nothing; anything else: as hooks.auto_save of config.json says",
  },
  MEMPAL_DIR: { group: "upstream", default: "", meaning: "a project that `mempalace hook run` mines as well" },
  MEMPALACE_CONFIG_DIR: { group: "upstream", default: "", meaning: "upstream's home, when MEMPALACE_PATH is not set" },
  MEMPALACE_BROKER: {
    group: "client",
    default: "",
    meaning:
      "endpoint used verbatim, no broker is started here: unix:/path, http://host:port, or ssh://user@host[:port], the bridge to that host (palace bridge setup)",
  },
  MEMPALACE_LISTEN: {
    group: "broker",
    default: "",
    meaning:
      "TCP door besides the socket, tcp://HOST:PORT; HOST `docker` = where containers find host.docker.internal; remembered until `off`",
  },
  MEMPALACE_OUTCOME_PORT: {
    group: "broker",
    default: "",
    meaning:
      "door for programs that speak Roampal's HTTP API (docs/explanation/learning.md), on 127.0.0.1 alone, for holders of a token: a port, or `on` = 27182; remembered until `off`",
  },
  MEMPALACE_ALLOWED_HOSTS: {
    group: "broker",
    default: "",
    meaning: "more host names, with commas, under which clients may call the TCP door",
  },
  MEMPALACE_MINE_ROOTS: {
    group: "broker",
    default: "",
    meaning:
      "folders of the broker's machine, with colons, that agents of other machines may have mined by the tool `mine`; who comes in through the socket may have any",
  },
  MEMPALACE_MAX_CHUNKS_PER_FILE: {
    group: "upstream",
    default: "50000",
    meaning: "drawers that one file of a project may become, else it is left out; 0 = any number",
  },
  MEMPALACE_TOPIC_TUNNEL_MIN_COUNT: {
    group: "upstream",
    default: "topic_tunnel_min_count of config.json, else 1",
    meaning: "topics that two wings must share for a mine to join them",
  },
  MEMPALACE_KG_HALLWAY_MIN_COUNT: {
    group: "upstream",
    default: "hallway_min_count of config.json, else 2",
    meaning: "drawers that two names must share for a mine to join them",
  },
  MEMPALACE_ENTITY_LANGUAGES: {
    group: "upstream",
    default: "entity_languages of config.json, else en",
    meaning: "languages of the names that drawers are tagged with, with commas",
  },
  MEMPAL_ENTITY_LANGUAGES: {
    group: "upstream",
    default: "",
    meaning: "older spelling of MEMPALACE_ENTITY_LANGUAGES",
  },
  MEMPALACE_TOKEN: { group: "client", default: "", meaning: "token for a broker behind a TCP door" },
  MEMPALACE_TOKEN_FILE: { group: "client", default: "", meaning: "file that holds that token" },
  MEMPALACE_AGENT_NAME: {
    group: "client",
    default: "the executable's name",
    meaning: "name of the agent in the journal",
  },
  MEMPALACE_WAKE_UP: {
    group: "harness",
    default: "on",
    meaning: "off: nothing of the palace is put into a session that begins",
  },
  MEMPALACE_WAKE_UP_WING: {
    group: "harness",
    default: "",
    meaning: "the wing that the wake-up text is of; else it is of the whole palace",
  },
  MEMPALACE_WAKE_UP_BYTES: {
    group: "harness",
    default: "4096",
    meaning: "bytes that injected text may have, its fence included; 512 to 65536",
  },
  MEMPALACE_RECALL: {
    group: "harness",
    default: "off",
    meaning: "on: Claude Code's prompts are searched for, and the three best drawers stand beside each",
  },
  MEMPALACE_OUTCOMES: {
    group: "harness",
    default: "off",
    meaning:
      "on: memory that learns from outcomes (docs/explanation/learning.md) shows an agent what fits each prompt, keeps the exchange, asks what came of it, and its seven tools stand beside the palace's; project: the same, and memories of other projects are not shown",
  },
  MEMPALACE_JUDGE_URL: {
    group: "harness",
    default: "",
    meaning:
      "where a model judges the exchanges that an agent has not scored itself, with MEMPALACE_OUTCOMES (docs/explanation/learning.md): the address of OpenAI's Chat Completions without its end, http://127.0.0.1:11434/v1; without it nothing is sent anywhere",
  },
  MEMPALACE_JUDGE_MODEL: { group: "harness", default: "", meaning: "the name of that model; without it none is asked" },
  MEMPALACE_JUDGE_KEY: { group: "harness", default: "", meaning: "sent to that address as bearer token" },
  MEMPALACE_HOOK_COMMAND: {
    group: "harness",
    default: "palace hook, beside the extension's package, else on the PATH",
    meaning: "what the pi extension and the opencode plugin run for wake-up text and filing; words or a JSON array",
  },
  MEMPALACE_MCP_COMMAND: {
    group: "harness",
    default: "mempalace-mcp, beside the extension's package, else on the PATH",
    meaning: "MCP server whose tools the pi extension registers; words or a JSON array",
  },
  MEMPALACE_MCP_TIMEOUT_MS: {
    group: "harness",
    default: "60000",
    meaning: "pi extension: a tool call without an answer after that ends the server, which is started again; 0 = none",
  },
  MEMPALACE_MCP_INIT_TIMEOUT_MS: {
    group: "harness",
    default: "300000",
    meaning: "pi extension: the same of the server's handshake, which no turn waits for; 0 = none",
  },
  MEMPALACE_MCP_MAX_RESPAWNS: {
    group: "harness",
    default: "2",
    meaning: "pi extension: starts of the server in a row that may come to nothing after the first; 0 = none",
  },
  MEMPALACE_MCP_RESPAWN_BACKOFF_MS: {
    group: "harness",
    default: "1000",
    meaning: "pi extension: wait before the first of these, twice as long before each next; 0 = none",
  },
  MEMPALACE_EXT_DEBUG: {
    group: "harness",
    default: "",
    meaning: "1: the pi extension and the opencode plugin say on stderr what they do",
  },
  MEMPALACE_TOOLS: {
    group: "client",
    default: "full",
    meaning:
      "tools an agent is told of: full; light, the eight that matter with short schemas; or outcome, the seven of memory that learns from outcomes (docs/explanation/learning.md), which stand beside the others with MEMPALACE_OUTCOMES; over HTTP /mcp?tools=light does the same",
  },
  MEMPALACE_IDLE_EXIT_MINUTES: {
    group: "broker",
    default: "30",
    meaning: "minutes without clients after which the broker ends; 0 = stay",
  },
  MEMPALACE_TOPOLOGY: {
    group: "broker",
    default: "native-only; in a container container-only-alone",
    meaning: "name of the topology this broker serves, shown by status and doctor",
  },
  MEMPALACE_TRUST_MOUNT: {
    group: "broker",
    default: "",
    meaning:
      "1: open the palace also on a shared folder whose locks other machines do not see; only if there is no other",
  },
  MEMPALACE_ENGINE: {
    group: "broker",
    default: "as the last time, at first builtin",
    meaning:
      "who serves the palace: builtin, or command:ARGV, an MCP server that the broker runs as its child; ARGV is words or a JSON array",
  },
  MEMPALACE_ENGINE_TIMEOUT_SECONDS: {
    group: "broker",
    default: "120",
    meaning: "seconds without an answer or progress after which the child of engine command is ended and replaced",
  },
  MEMPALACE_DRIVER: {
    group: "broker",
    default: "files; chroma when MEMPALACE_CHROMA_URL is set, as in the compose stack",
    meaning:
      "public palace kept besides the ledger: files (the palace folder itself, which MemPalace opens at any time and writes when the broker is stopped), chroma (a Chroma server), or none (what is there is adopted, nothing is written)",
  },
  MEMPALACE_CHROMA_URL: {
    group: "broker",
    default: "http://127.0.0.1:8000",
    meaning: "Chroma server, or Chroma Cloud, of the chroma driver",
  },
  MEMPALACE_CHROMA_TOKEN: { group: "broker", default: "", meaning: "sent to Chroma as x-chroma-token" },
  MEMPALACE_CHROMA_TENANT: { group: "broker", default: "default_tenant", meaning: "Chroma tenant" },
  MEMPALACE_CHROMA_DATABASE: { group: "broker", default: "default_database", meaning: "Chroma database" },
  MEMPALACE_VECTORS: {
    group: "search",
    default: "local",
    meaning: "who answers the vector query: local (exact scan) or chroma",
  },
  MEMPALACE_MODEL_DIR: {
    group: "search",
    default: "",
    meaning: "folder with the embedding model: tokenizer.json and onnx/model.onnx (or model.onnx)",
  },
  MEMPALACE_MODEL_URL: {
    group: "search",
    default: "the model's public hub",
    meaning: "base address the model files are downloaded from",
  },
  MEMPALACE_RERANK_DIR: {
    group: "search",
    default: "models/ms-marco-MiniLM-L-6-v2 in the cache folder of palace-devbox",
    meaning:
      "folder with a cross-encoder, tokenizer.json and onnx/model.onnx (or model.onnx), that reads question and drawer together and puts the first 20 hits in its order; none there: nothing changes, and it is never downloaded",
  },
  HTTPS_PROXY: {
    group: "search",
    default: "",
    meaning:
      "proxy, http://HOST:PORT, through which the broker asks https addresses: the model's, a Chroma's; its certificates, where it inspects TLS, are Node's NODE_EXTRA_CA_CERTS",
  },
  https_proxy: { group: "search", default: "", meaning: "the same; wins over it" },
  NO_PROXY: { group: "search", default: "", meaning: "hosts, with commas, that are asked without that proxy" },
  no_proxy: { group: "search", default: "", meaning: "the same; wins over it" },
  MEMPALACE_OFFLINE: { group: "search", default: "", meaning: "1: never download anything" },
  MEMPALACE_REDACT: {
    group: "broker",
    default: "recall",
    meaning:
      "secrets in what agents are handed: recall masks tokens of well-known shape, strict also what is assigned to a secret's name, off nothing; what is stored stays verbatim (docs/how-to/forget.md)",
  },
  MEMPALACE_AUDIT_DAYS: {
    group: "broker",
    default: "90",
    meaning: "days the journal keeps who wrote what, 30 at least: so long a repeated write is known as one",
  },
  MEMPALACE_BACKUP_DIR: {
    group: "broker",
    default: "",
    meaning: "folder into which the broker makes backups by itself, while nobody writes (docs/how-to/backup.md)",
  },
  MEMPALACE_BACKUP_HOURS: { group: "broker", default: "24", meaning: "hours between two of those backups" },
  MEMPALACE_BACKUP_KEEP: { group: "broker", default: "7", meaning: "how many of them are kept, the oldest go first" },
  MEMPALACE_BACKUP_PASSPHRASE_FILE: {
    group: "broker",
    default: "",
    meaning: "file whose first line is the passphrase that backups are encrypted with, and read with",
  },
  MEMPALACE_BACKUP_PASSPHRASE: {
    group: "client",
    default: "",
    meaning: "that passphrase itself, for `palace backup`, `palace backup verify` and `palace backup restore`",
  },
  MEMPALACE_LOG_LEVEL: { group: "broker", default: "info", meaning: "debug, info, warn or error" },
  SSH_ORIGINAL_COMMAND: {
    group: "broker",
    default: "",
    meaning: "set by sshd for `palace gate`: what the key's holder asked for",
  },
  MEMPALACE_FAULT: {
    group: "test",
    default: "",
    meaning: "test only: NAME[:N] kills the broker at that step of the write path",
  },
  OPENCODE_DB: {
    group: "client",
    default: "opencode.db in opencode's data folder",
    meaning: "opencode's database, for mempalace-session; a relative path lies in opencode's data folder",
  },
  CLAUDE_CONFIG_DIR: {
    group: "client",
    default: "~/.claude",
    meaning: "Claude Code's folder, for mempalace-session and palace install",
  },
  PI_CODING_AGENT_DIR: {
    group: "client",
    default: "~/.pi/agent",
    meaning: "pi's folder, for mempalace-session and palace install",
  },
  ROAMPAL_DEV: {
    group: "client",
    default: "",
    meaning: "1, true or yes: roampal's commands mean the memory of development, as with --dev",
  },
  ROAMPAL_DATA_PATH: {
    group: "client",
    default: "~/.local/share/roampal/data; on macOS ~/Library/Application Support/Roampal/data",
    meaning: "Roampal's data folder, for palace outcome import",
  },
  XDG_DATA_HOME: { group: "client", default: "~/.local/share", meaning: "where opencode has its data folder" },
  XDG_RUNTIME_DIR: { group: "place", default: "", meaning: "folder for the socket; else the cache folder" },
  XDG_STATE_HOME: { group: "place", default: "~/.local/state", meaning: "folder for logs and markers" },
  XDG_CACHE_HOME: { group: "place", default: "~/.cache", meaning: "folder for staging and models" },
  XDG_CONFIG_HOME: {
    group: "upstream",
    default: "~/.config",
    meaning: "where newer upstream installs keep their home, and opencode its settings",
  },
  PATH: { group: "client", default: "", meaning: "where palace install looks for agents and for our own commands" },
  HOME: { group: "place", default: "", meaning: "the user's home" },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;
export type Env = Readonly<Record<string, string | undefined>>;

const NOT_LASTING: ReadonlySet<string> = new Set([
  ...["HOME", "SSH_ORIGINAL_COMMAND", "MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH"],
  "MEMPALACE_CHROMA_TOKEN",
  ...Object.entries(VARIABLES).flatMap(([name, { group }]) =>
    ["client", "harness", "test"].includes(group) ? [name] : [],
  ),
]);

/**
 * Lists NAME=value for the variables that decide which palace and broker is used, without secrets and settings of a single
 * client.
 */
export function lastingSettings(env: Env): string[] {
  return (Object.keys(VARIABLES) as VariableName[]).flatMap((name) => {
    const value = NOT_LASTING.has(name) ? undefined : readVariable(env, name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
}

/** Reads one listed variable; empty counts as not set. */
export function readVariable(env: Env, name: VariableName): string | undefined {
  const value = env[name];
  return value === undefined || value.trim() === "" ? undefined : value;
}
