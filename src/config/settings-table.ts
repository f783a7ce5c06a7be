/**
 * The one table of settings: the keys of `settings.json` in the palace's folder. Each key is also read from the environment,
 * as `MEMPALACE_` and its name in capitals. docs/reference/settings.md, `palace config` and `palace doctor` are made from it.
 * Pure. Imported by the files beside it, by bin and by scripts/docs.ts.
 */

/** Type of a value. A list is a choice of words. */
export type Kind =
  | "text"
  | "switch"
  | "folder"
  | "file"
  | "folders"
  | "words"
  | "url"
  | "address"
  | "port"
  | readonly string[]
  | NumberKind;
export type NumberKind = Readonly<{ from: number; to?: number; isWhole?: boolean }>;

/** When a changed value is used: at the broker's next start, in an agent's next session, or by the next command or prompt. */
export type TakesEffect = "start" | "session" | "next";

export type Setting = Readonly<{
  kind: Kind;
  takesEffect: TakesEffect;
  /** The default in words; empty: none. */
  default: string;
  meaning: string;
  group: "model" | "broker" | "chroma" | "backup" | "agents" | "learning" | "mining";
}>;

const TIMER_MAX = 2 ** 31 - 1;
const TIMER: NumberKind = { from: 0, to: TIMER_MAX, isWhole: true };

export const SETTINGS = {
  "model-dir": {
    ...{ group: "model", kind: "folder", takesEffect: "start", default: "" },
    meaning: "Folder with the embedding model: tokenizer.json and onnx/model.onnx (or model.onnx).",
  },
  "model-url": {
    ...{ group: "model", kind: "url", takesEffect: "start", default: "the model's public hub" },
    meaning: "Base address that the model's files are downloaded from.",
  },
  "rerank-dir": {
    ...{ group: "model", kind: "folder", takesEffect: "start" },
    default: "models/ms-marco-MiniLM-L-6-v2 in the cache folder of palace-devbox",
    meaning:
      "Folder with a cross-encoder: tokenizer.json and onnx/model.onnx (or model.onnx). It reads question and drawer together and orders the first 20 hits. Without this model the order of hits does not change. The broker never downloads it.",
  },
  offline: {
    ...{ group: "model", kind: "switch", takesEffect: "start", default: "off" },
    meaning: "If on, the broker never downloads anything.",
  },
  vectors: {
    ...{ group: "model", kind: ["local", "chroma"], takesEffect: "start", default: "local" },
    meaning: "How the broker searches vectors. local scans all vectors itself, chroma asks the Chroma server.",
  },
  listen: {
    ...{ group: "broker", kind: "address", takesEffect: "start", default: "" },
    meaning:
      "TCP address on which the broker listens besides its socket, tcp://HOST:PORT, or off. HOST `docker` is the address where containers find host.docker.internal.",
  },
  "allowed-hosts": {
    ...{ group: "broker", kind: "words", takesEffect: "start", default: "" },
    meaning: "More host names under which clients may reach the broker's TCP port.",
  },
  "outcome-port": {
    ...{ group: "broker", kind: "port", takesEffect: "start", default: "" },
    meaning:
      "Port for programs that use Roampal's HTTP API (docs/explanation/learning.md): a number, on (27182), or off. The broker listens on 127.0.0.1 and asks for a token.",
  },
  "outcome-local": {
    ...{ group: "broker", kind: "switch", takesEffect: "start", default: "off" },
    meaning:
      "If on, programs of the user whose broker it is need no token at outcome-port, for example Roampal's own hooks (Linux only). `palace outcome door --local` sets both keys.",
  },
  "mine-roots": {
    ...{ group: "broker", kind: "folders", takesEffect: "start", default: "" },
    meaning:
      "Folders of the broker's machine that agents of other machines may mine with the tool `mine`. Clients of the local socket may mine any folder.",
  },
  "idle-exit-minutes": {
    ...{ group: "broker", kind: { from: 0 }, takesEffect: "start", default: "30" },
    meaning: "Minutes without clients after which the broker ends. With 0 it never ends by itself.",
  },
  "engine-timeout-seconds": {
    ...{ group: "broker", kind: { from: 1, to: 86_400 }, takesEffect: "start", default: "120" },
    meaning: "Seconds without an answer or progress after which the broker replaces the child of MEMPALACE_ENGINE.",
  },
  redact: {
    ...{ group: "broker", kind: ["off", "recall", "strict"], takesEffect: "start", default: "recall" },
    meaning:
      "Masks secrets in what agents receive (docs/how-to/forget.md). recall masks tokens of a well-known shape. strict also masks values assigned to a secret's name. off masks nothing. The stored text does not change.",
  },
  "audit-days": {
    ...{ group: "broker", kind: { from: 30 }, takesEffect: "start", default: "90" },
    meaning: "Days that the journal keeps who wrote what. The broker recognises a repeated write for that long.",
  },
  "log-level": {
    ...{ group: "broker", kind: ["debug", "info", "warn", "error"], takesEffect: "start", default: "info" },
    meaning: "How much the broker writes into its log.",
  },
  driver: {
    ...{ group: "chroma", kind: ["none", "files", "chroma"], takesEffect: "start" },
    default: "files; chroma where chroma-url is set",
    meaning:
      "Public palace that the broker keeps besides the ledger. files is the palace folder itself, which MemPalace can open. chroma is a Chroma server. none: the broker does not write a public palace, but adopts the rows of an existing one.",
  },
  "chroma-url": {
    ...{ group: "chroma", kind: "url", takesEffect: "start", default: "http://127.0.0.1:8000" },
    meaning: "Address of the Chroma server, or of Chroma Cloud, that the chroma driver uses.",
  },
  "chroma-tenant": {
    ...{ group: "chroma", kind: "text", takesEffect: "start", default: "default_tenant" },
    meaning: "Chroma tenant.",
  },
  "chroma-database": {
    ...{ group: "chroma", kind: "text", takesEffect: "start", default: "default_database" },
    meaning: "Chroma database.",
  },
  "backup-dir": {
    ...{ group: "backup", kind: "folder", takesEffect: "start", default: "" },
    meaning: "Folder into which the broker makes backups by itself while nobody writes (docs/how-to/backup.md).",
  },
  "backup-hours": {
    ...{ group: "backup", kind: { from: 0.01 }, takesEffect: "start", default: "24" },
    meaning: "Hours between two of the broker's own backups.",
  },
  "backup-keep": {
    ...{ group: "backup", kind: { from: 1, isWhole: true }, takesEffect: "start", default: "7" },
    meaning: "How many of its own backups the broker keeps. It deletes the oldest first.",
  },
  "backup-passphrase-file": {
    ...{ group: "backup", kind: "file", takesEffect: "start", default: "" },
    meaning: "File whose first line is the passphrase that encrypts and decrypts all backups.",
  },
  tools: {
    ...{ group: "agents", kind: ["full", "light", "outcome"], takesEffect: "session", default: "full" },
    meaning:
      "Tools that an agent sees. light has the eight most important tools, with short schemas. outcome has the seven tools of memory that learns from outcomes. Over HTTP, /mcp?tools=light does the same.",
  },
  "wake-up": {
    ...{ group: "agents", kind: "switch", takesEffect: "session", default: "on" },
    meaning: "If off, an agent's new session gets no wake-up text from the palace.",
  },
  "wake-up-wing": {
    ...{ group: "agents", kind: "text", takesEffect: "session", default: "" },
    meaning: "Wing that the wake-up text is taken from. If unset, it is taken from the whole palace.",
  },
  "wake-up-bytes": {
    ...{ group: "agents", kind: { from: 512, to: 65_536, isWhole: true }, takesEffect: "session", default: "4096" },
    meaning: "Most bytes of a text that is injected into a session, including the markers around it.",
  },
  "turn-max-ms": {
    ...{ group: "agents", kind: { from: 100, to: 60_000, isWhole: true }, takesEffect: "session", default: "1000" },
    meaning:
      "How long a turn of an agent waits for the palace, ms. Without an answer in that time the agent goes on alone. Raise it on a slow machine.",
  },
  recall: {
    ...{ group: "agents", kind: "switch", takesEffect: "next", default: "off" },
    meaning:
      "If on, a hook searches the palace for each prompt in Claude Code, and the agent sees the three best drawers beside the prompt.",
  },
  "hooks-auto-save": {
    ...{ group: "agents", kind: "switch", takesEffect: "next", default: "on" },
    meaning:
      "If off, `mempalace hook run` does nothing and `palace hook` files no session. If on, hooks.auto_save of MemPalace's config.json decides.",
  },
  "mcp-timeout-ms": {
    ...{ group: "agents", kind: TIMER, takesEffect: "session", default: "60000" },
    meaning:
      "pi extension: time limit of a tool call, ms. After it, the extension starts its MCP server again. 0 means no limit.",
  },
  "mcp-init-timeout-ms": {
    ...{ group: "agents", kind: TIMER, takesEffect: "session", default: "300000" },
    meaning:
      "pi extension: time limit of the MCP server's handshake, ms. No turn waits for the handshake. 0 means no limit.",
  },
  "mcp-max-respawns": {
    ...{ group: "agents", kind: TIMER, takesEffect: "session", default: "2" },
    meaning: "pi extension: how often in a row a failing MCP server is started again.",
  },
  "mcp-respawn-backoff-ms": {
    ...{ group: "agents", kind: TIMER, takesEffect: "session", default: "1000" },
    meaning: "pi extension: wait before a failed MCP server is started again, ms. The wait doubles with each restart.",
  },
  outcomes: {
    ...{ group: "learning", kind: ["off", "on", "project"], takesEffect: "session", default: "off" },
    meaning:
      "If on, memory learns from outcomes (docs/explanation/learning.md). The agent sees memories that fit each prompt, is asked whether they helped, and gets seven more tools. The value `project` does the same, but leaves out memories of other projects.",
  },
  "judge-url": {
    ...{ group: "learning", kind: "url", takesEffect: "next", default: "" },
    meaning:
      "Address of a model that judges exchanges that the agent has not scored: the base URL of an OpenAI Chat Completions API, for example http://127.0.0.1:11434/v1. It needs outcomes and judge-model. Without judge-url nothing is sent anywhere.",
  },
  "judge-model": {
    ...{ group: "learning", kind: "text", takesEffect: "next", default: "" },
    meaning: "Name of the model at judge-url.",
  },
  "max-chunks-per-file": {
    ...{ group: "mining", kind: { from: 0, isWhole: true }, takesEffect: "next", default: "50000" },
    meaning: "Most drawers that one mined file may become. A larger file is skipped. 0 means no limit.",
  },
  "topic-tunnel-min-count": {
    ...{ group: "mining", kind: { from: 1, isWhole: true }, takesEffect: "start" },
    default: "topic_tunnel_min_count of MemPalace's config.json, else 1",
    meaning: "Topics that two wings must share before mining links them.",
  },
  "kg-hallway-min-count": {
    ...{ group: "mining", kind: { from: 1, isWhole: true }, takesEffect: "start" },
    default: "hallway_min_count of MemPalace's config.json, else 2",
    meaning: "Drawers that two names must share before mining links them.",
  },
  "entity-languages": {
    ...{ group: "mining", kind: "words", takesEffect: "start" },
    default: "entity_languages of MemPalace's config.json, else en",
    meaning: "Languages of the names that drawers are tagged with.",
  },
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];

type Snake<T extends string> = T extends `${infer Head}-${infer Tail}` ? `${Head}_${Snake<Tail>}` : T;
/** The environment variable of a key. */
export type SettingVariable = `MEMPALACE_${Uppercase<Snake<SettingKey>>}`;

export function variableOf(key: SettingKey): SettingVariable {
  return `MEMPALACE_${key.toUpperCase().replaceAll("-", "_")}` as SettingVariable;
}

export function isSettingKey(text: string): text is SettingKey {
  return Object.hasOwn(SETTINGS, text);
}

/** Describes the values that a key takes. */
export function kindText(kind: Kind): string {
  if (typeof kind === "string") return KIND_TEXTS[kind];
  if (!("from" in kind)) return kind.join(", ").replace(/, (?=[^,]*$)/, " or ");
  const what = kind.isWhole === true ? "a whole number" : "a number";
  return kind.to === undefined ? `${what} from ${kind.from} on` : `${what} from ${kind.from} to ${kind.to}`;
}

const KIND_TEXTS = {
  text: "a text",
  switch: "on or off",
  folder: "the absolute path of a folder",
  file: "the absolute path of a file",
  folders: "absolute paths of folders, with colons between them or as a JSON array",
  words: "words, with commas between them or as a JSON array",
  url: "an http or https address without a password in it",
  address: "tcp://HOST:PORT or off",
  port: "a port, on or off",
} as const satisfies Record<Extract<Kind, string>, string>;
