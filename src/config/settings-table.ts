/** Table of all settings: keys of `settings.json`, each also an environment variable (`model-dir` is `MEMPALACE_MODEL_DIR`). */
import { LOG_LEVELS } from "../base/log.ts";
import { IDEMPOTENCY_KEPT_MS } from "../protocol/limits.ts";
import {
  ABSOLUTE_FOLDER,
  asText,
  AUTO_SAVE,
  choice,
  FILE,
  FOLDER,
  FOLDERS,
  type Kind,
  LISTEN,
  number,
  PORT,
  positive,
  type SettingValue,
  SWITCH,
  TEXT,
  URL_ADDRESS,
  wholeNumber,
  WORDS,
} from "./settings-value.ts";

/** Moment from which a changed value applies: the broker's next start, an agent's next session, or the next command or prompt. */
export type TakesEffect = "start" | "session" | "next";
type Group = "model" | "broker" | "chroma" | "backup" | "agents" | "learning" | "mining";

export type Setting<T = unknown> = Readonly<{
  group: Group;
  takesEffect: TakesEffect;
  kind: Kind<T>;
  default: T;
  /** Default as the help shows it; empty if there is none. */
  defaultText: string;
  meaning: string;
}>;

/** Setting that still needs its meaning (the help text). `words` describes a default that depends on something else. */
type Means<T> = { means: (meaning: string, words?: string) => Setting<T> };

function setting<T, D extends T | undefined>(
  group: Group,
  takesEffect: TakesEffect,
  kind: Kind<T>,
  usual?: D,
): Means<T | D> {
  const shown = usual === undefined ? "" : asText(kind, usual as SettingValue);
  const common = { group, takesEffect, kind, default: usual as D };
  return { means: (meaning, words = shown) => ({ ...common, defaultText: words, meaning }) };
}

const TIMER_MAX = 2 ** 31 - 1;
/** Minimum of `audit-days`: the journal recognises a repeated write only while it keeps the write's row. */
const AUDIT_DAYS_MIN = IDEMPOTENCY_KEPT_MS / (24 * 3_600_000);

export const SETTINGS = {
  "model-dir": setting("model", "start", FOLDER).means(
    "Folder with the embedding model: tokenizer.json and onnx/model.onnx (or model.onnx).",
  ),
  "model-url": setting("model", "start", URL_ADDRESS).means(
    "Base address that the model's files are downloaded from.",
    "the model's public hub",
  ),
  "rerank-dir": setting("model", "start", FOLDER).means(
    "Folder with a cross-encoder: tokenizer.json and onnx/model.onnx (or model.onnx). It reads question and drawer together and orders the first 20 hits. Without this model the order of hits does not change. The broker never downloads it.",
    "models/ms-marco-MiniLM-L-6-v2 in the cache folder of palace-devbox",
  ),
  offline: setting("model", "start", SWITCH, false).means("If on, the broker never downloads anything."),
  vectors: setting("model", "start", choice(["local", "chroma"]), "local").means(
    "How the broker searches vectors. local scans all vectors itself, chroma asks the Chroma server.",
  ),
  listen: setting("broker", "start", LISTEN).means(
    "TCP address on which the broker listens besides its socket, tcp://HOST:PORT, or off. HOST `docker` is the address where containers find host.docker.internal.",
  ),
  "allowed-hosts": setting("broker", "start", WORDS, []).means(
    "More host names under which clients may reach the broker's TCP port.",
  ),
  "outcome-port": setting("broker", "start", PORT).means(
    "Port for programs that use Roampal's HTTP API (docs/explanation/learning.md): a number, on (27182), or off. The broker listens on 127.0.0.1 and asks for a token.",
  ),
  "outcome-local": setting("broker", "start", SWITCH, false).means(
    "If on, programs of the broker's own user need no token at outcome-port, for example Roampal's own hooks (Linux only). `palace outcome door --local` sets both keys.",
  ),
  "mine-roots": setting("broker", "start", FOLDERS, []).means(
    "Folders of the broker's machine that agents of other machines may mine with the tool `mine`. Clients of the local socket may mine any folder.",
  ),
  "idle-exit-minutes": setting("broker", "start", number({ from: 0 }, "of minutes"), 30).means(
    "Minutes without clients after which the broker ends. With 0 it never ends by itself.",
  ),
  "engine-timeout-seconds": setting(
    "broker",
    "start",
    positive({ from: 1, to: 86_400 }, "of seconds up to a day"),
    120,
  ).means("Seconds without an answer or progress after which the broker replaces the child of MEMPALACE_ENGINE."),
  redact: setting("broker", "start", choice(["off", "recall", "strict"]), "recall").means(
    "Masks secrets in what agents receive (docs/how-to/forget.md). recall masks tokens of a well-known shape. strict also masks values assigned to a secret's name. off masks nothing. The stored text does not change.",
  ),
  "audit-days": setting(
    "broker",
    "start",
    number({ from: AUDIT_DAYS_MIN }, `of at least ${AUDIT_DAYS_MIN} days`),
    90,
  ).means("Days that the journal keeps who wrote what. The broker recognises a repeated write for that long."),
  "log-level": setting("broker", "start", choice(LOG_LEVELS), "info").means("How much the broker writes into its log."),
  driver: setting("chroma", "start", choice(["none", "files", "chroma"]), "files").means(
    "Public palace that the broker keeps besides the ledger. files is the palace folder itself, which MemPalace can open. chroma is a Chroma server. none: the broker does not write a public palace, but adopts the rows of an existing one.",
    "files; chroma where chroma-url is set",
  ),
  "chroma-url": setting("chroma", "start", URL_ADDRESS, "http://127.0.0.1:8000").means(
    "Address of the Chroma server, or of Chroma Cloud, that the chroma driver uses.",
  ),
  "chroma-tenant": setting("chroma", "start", TEXT, "default_tenant").means("Chroma tenant."),
  "chroma-database": setting("chroma", "start", TEXT, "default_database").means("Chroma database."),
  "backup-dir": setting("backup", "start", ABSOLUTE_FOLDER).means(
    "Folder into which the broker makes backups by itself while nobody writes (docs/how-to/backup.md).",
  ),
  "backup-hours": setting("backup", "start", positive({ from: 0.01 }, "above 0"), 24).means(
    "Hours between two of the broker's own backups.",
  ),
  "backup-keep": setting("backup", "start", positive({ from: 1, isWhole: true }, "above 0"), 7).means(
    "How many of its own backups the broker keeps. It deletes the oldest first.",
  ),
  "backup-passphrase-file": setting("backup", "start", FILE).means(
    "File whose first line is the passphrase that encrypts and decrypts all backups.",
  ),
  tools: setting(
    "agents",
    "session",
    choice(["full", "light", "outcome"], ["full+outcome", "light+outcome"]),
    "full",
  ).means(
    "Tools that an agent sees. light has the eight most important tools, with short schemas. outcome has the seven tools of memory that learns from outcomes. Over HTTP, /mcp?tools=light does the same.",
  ),
  "wake-up": setting("agents", "session", SWITCH, true).means(
    "If off, an agent's new session gets no wake-up text from the palace.",
  ),
  "wake-up-wing": setting("agents", "session", TEXT).means(
    "Wing that the wake-up text is taken from. If unset, it is taken from the whole palace.",
  ),
  "wake-up-bytes": setting("agents", "session", wholeNumber(512, 65_536), 4_096).means(
    "Maximum size of a text that is injected into a session, in bytes, including the markers around it.",
  ),
  "turn-max-ms": setting("agents", "session", wholeNumber(100, 60_000), 1_000).means(
    "How long a turn of an agent waits for the palace, ms. Without an answer in that time the agent continues without the palace. Raise it on a slow machine.",
  ),
  recall: setting("agents", "next", SWITCH, false).means(
    "If on, a hook searches the palace for each prompt in Claude Code, and the agent sees the three best drawers beside the prompt.",
  ),
  "hooks-auto-save": setting("agents", "next", AUTO_SAVE, true).means(
    "If off, `mempalace hook run` does nothing and `palace hook` files no session. If on, hooks.auto_save of MemPalace's config.json decides.",
  ),
  "mcp-timeout-ms": setting("agents", "session", wholeNumber(0, TIMER_MAX), 60_000).means(
    "pi extension: time limit of a tool call, ms. After it, the extension starts its MCP server again. 0 means no limit.",
  ),
  "mcp-init-timeout-ms": setting("agents", "session", wholeNumber(0, TIMER_MAX), 300_000).means(
    "pi extension: time limit of the MCP server's handshake, ms. No turn waits for the handshake. 0 means no limit.",
  ),
  "mcp-max-respawns": setting("agents", "session", wholeNumber(0, TIMER_MAX), 2).means(
    "pi extension: how often in a row a failing MCP server is started again.",
  ),
  "mcp-respawn-backoff-ms": setting("agents", "session", wholeNumber(0, TIMER_MAX), 1_000).means(
    "pi extension: wait before a failed MCP server is started again, ms. The wait doubles with each restart.",
  ),
  outcomes: setting("learning", "session", choice(["off", "on", "project"]), "off").means(
    "If on, memory learns from outcomes (docs/explanation/learning.md). The agent sees memories that fit each prompt, is asked whether they helped, and gets seven more tools. The value `project` does the same, but leaves out memories of other projects.",
  ),
  "judge-url": setting("learning", "next", URL_ADDRESS).means(
    "Address of a model that judges exchanges that the agent has not scored: the base URL of an OpenAI Chat Completions API, for example http://127.0.0.1:11434/v1. It needs outcomes and judge-model. Without judge-url nothing is sent anywhere.",
  ),
  "judge-model": setting("learning", "next", TEXT).means("Name of the model at judge-url."),
  "test-commands": setting("learning", "session", WORDS, []).means(
    "Commands that count as tests in addition to the known test commands (docs/explanation/learning.md), for example `just check,./ci`. A command counts if it begins with these words.",
  ),
  "max-chunks-per-file": setting("mining", "next", wholeNumber(0), 50_000).means(
    "Maximum number of drawers that one mined file may become. A larger file is skipped. 0 means no limit.",
  ),
  "topic-tunnel-min-count": setting("mining", "start", wholeNumber(1)).means(
    "Topics that two wings must share before mining links them.",
    "topic_tunnel_min_count of MemPalace's config.json, else 1",
  ),
  "kg-hallway-min-count": setting("mining", "start", wholeNumber(1)).means(
    "Drawers that two names must share before mining links them.",
    "hallway_min_count of MemPalace's config.json, else 2",
  ),
  "entity-languages": setting("mining", "start", WORDS).means(
    "Languages of the names that drawers are tagged with.",
    "entity_languages of MemPalace's config.json, else en",
  ),
} satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];
export type SettingOf<K extends SettingKey> = (typeof SETTINGS)[K]["default"];

type Snake<T extends string> = T extends `${infer Head}-${infer Tail}` ? `${Head}_${Snake<Tail>}` : T;
export type SettingVariable = `MEMPALACE_${Uppercase<Snake<SettingKey>>}`;

export function variableOf(key: SettingKey): SettingVariable {
  return `MEMPALACE_${key.toUpperCase().replaceAll("-", "_")}` as SettingVariable;
}

export function isSettingKey(text: string): text is SettingKey {
  return Object.hasOwn(SETTINGS, text);
}
