/** Makes JSON-RPC messages of every method and tool, and damages their types, keys, ids, nesting, numbers and bytes. */
import { IDEMPOTENCY_META } from "../../src/protocol/headers.ts";
import { toolsOf } from "../../src/protocol/tools/profile.ts";
import { type Chooser, type Entry, object } from "./chooser.ts";

/** Placeholder for the id of a drawer that the sender filed before. */
export const OWN_DRAWER = "@own-drawer@";

const OURS = [
  "source.replace",
  "source.replace",
  "source.part",
  "conversation.replace",
  "closet.sources",
  "closet.rebuild",
  "closet.compressPreview",
  "closet.compress",
  "link.rebuild",
  "source.remove",
  "source.list",
  "drawer.search",
  "drawer.show",
  "drawer.places",
  "drawer.list",
  "palace.status",
  "palace.stats",
];
const OUTCOME = [
  ...["turn.begin", "turn.begin", "turn.end", "turn.end", "turn.list", "turn.scored", "turn.owed", "turn.judge"],
  ...["book.ingest", "book.remove", "book.list", "fact.add", "fact.update", "fact.archive"],
  ...["outcome.record", "outcome.score", "outcome.search", "outcome.insights", "outcome.rewrite"],
  ...["outcome.stats", "outcome.why"],
];
const OTHERS = [
  "initialize",
  "ping",
  "tools/list",
  "notifications/initialized",
  "notifications/",
  "resources/list",
  "toString",
  "__proto__",
  "broker.stop ",
  "TOOLS/CALL",
  "",
];
const IDS = [
  "null",
  "true",
  "{}",
  "[1]",
  '{"toString":1}',
  '"\\ud800"',
  '""',
  "1e999",
  "-0",
  "1.5",
  "12345678901234567890",
];

export function message(chooser: Chooser): Buffer {
  const whole = Buffer.from(requestText(chooser));
  if (chooser.chance(0.04)) return withoutLf(chooser.damaged(whole));
  if (chooser.chance(0.03)) {
    const at = chooser.below(whole.length);
    return Buffer.concat([
      whole.subarray(0, at),
      Buffer.from(chooser.pick([[0xff], [0xc3], [0xed, 0xa0, 0x80]])),
      whole.subarray(at),
    ]);
  }
  return whole;
}

function withoutLf(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => (byte === 10 ? 32 : byte)));
}

function requestText(chooser: Chooser): string {
  if (chooser.chance(0.04)) return chooser.json(6);
  const entries: Entry[] = [];
  if (!chooser.chance(0.03)) entries.push(["jsonrpc", chooser.chance(0.97) ? '"2.0"' : chooser.json(1)]);
  if (!chooser.chance(0.05)) entries.push(["id", id(chooser)]);
  const [method, params] = call(chooser);
  entries.push(["method", chooser.chance(0.97) ? JSON.stringify(method) : chooser.json(1)]);
  if (!chooser.chance(0.02)) entries.push(["params", chooser.chance(0.96) ? params : chooser.json()]);
  return object(chooser.bent(entries, 0.04));
}

function id(chooser: Chooser): string {
  if (chooser.chance(0.8)) return String(chooser.below(1000));
  if (chooser.chance(0.03)) return JSON.stringify("i".repeat(chooser.between(10_000, 300_000)));
  return chooser.chance(0.5) ? chooser.pick(IDS) : chooser.json(1);
}

/** Every tool except mempalace_event_wait, which waits a minute by default and has the arguments of event_list. */
const CALLED = [...toolsOf("full"), ...toolsOf("outcome")].filter(({ name }) => name !== "mempalace_event_wait");

function call(chooser: Chooser): [method: string, params: string] {
  if (chooser.chance(0.12)) return [chooser.pick(OTHERS), chooser.json()];
  if (chooser.chance(0.4)) {
    const isOurs = chooser.chance(0.6);
    const method = chooser.pick(isOurs ? OURS : OUTCOME);
    const meta: Entry[] = chooser.chance(0.1) ? [["_meta", object([[IDEMPOTENCY_META, chooser.json(1)]])]] : [];
    return [method, object(chooser.bent([...(isOurs ? ourParams(chooser) : outcomeParams(chooser)), ...meta], 0.15))];
  }
  const tool = chooser.pick(CALLED);
  const required = new Set(tool.inputSchema.required);
  const entries = Object.keys(tool.inputSchema.properties)
    .filter((key) => required.has(key) || chooser.chance(0.4))
    .map((key): Entry => [key, argument(chooser, key)]);
  const params: Entry[] = [
    ["name", JSON.stringify(chooser.chance(0.97) ? tool.name : `${tool.name}${chooser.text()}`)],
    ["arguments", object(chooser.bent(entries, 0.2))],
  ];
  if (chooser.chance(0.3)) params.push(["_meta", meta(chooser)]);
  return ["tools/call", object(chooser.bent(params, 0.03))];
}

function meta(chooser: Chooser): string {
  if (chooser.chance(0.2)) return chooser.json(2);
  // Only a few keys, so that some are repeated with the same or other arguments.
  const key = chooser.chance(0.8) ? JSON.stringify(`key-${chooser.below(500)}`) : chooser.json(1);
  return object([[IDEMPOTENCY_META, key]]);
}

const SIGNALS = ["tests-passed", "tests-failed", "command-failed", "reverted", "asked-again"];
const OUTCOMES = ["worked", "failed", "partial", "unknown", "great"];

function scores(chooser: Chooser): string {
  const ids = [OWN_DRAWER, "working_0a1b2c3d", "books_0a1b2c3d_chunk_0", chooser.text()];
  return object(ids.map((id): Entry => [id, JSON.stringify(chooser.pick(OUTCOMES))]));
}

/** Returns an argument, mostly of the parameter's type. */
function argument(chooser: Chooser, key: string): string {
  if (/limit|last_n|offset/.test(key)) return chooser.chance(0.8) ? String(chooser.below(120)) : chooser.number();
  if (/distance|threshold/.test(key)) return chooser.chance(0.8) ? "0.5" : chooser.number();
  if (/silent|desktop/.test(key)) return chooser.pick(["true", "false"]);
  if (key === "drawer_ids") return `[${chooser.some(3, () => argument(chooser, "drawer_id")).join()}]`;
  if (key === "items") return `[${chooser.some(3, () => parts(chooser, ["wing", "room", "content"])).join()}]`;
  if (key === "diary") return parts(chooser, ["agent_name", "entry", "topic", "wing"]);
  if (key === "memory_scores") return scores(chooser);
  if (key === "outcome" || key === "initial_score") return JSON.stringify(chooser.pick(OUTCOMES));
  if (/dry_run|apply|always_inject/.test(key)) return chooser.pick(["true", "false"]);
  if (/drawer_id/.test(key)) return JSON.stringify(chooser.chance(0.7) ? OWN_DRAWER : chooser.text());
  if (/content|entry|query|context/.test(key)) return JSON.stringify(prose(chooser));
  return JSON.stringify(chooser.chance(0.9) ? `name${chooser.below(8)}` : chooser.text());
}

function parts(chooser: Chooser, keys: readonly string[]): string {
  return object(
    chooser.bent(
      keys.map((key): Entry => [key, argument(chooser, key)]),
      0.1,
    ),
  );
}

function prose(chooser: Chooser): string {
  const words = chooser.some(12, () =>
    chooser.pick(["fuzz", "notes", "über", "日本", "a", "?", "OR", '"x"', "*", "decision"]),
  );
  const text = `${words.join(" ")} ${chooser.below(100_000)}`;
  if (chooser.chance(0.02)) return text.repeat(chooser.between(100, 3000));
  return chooser.chance(0.85) ? text : text + chooser.text();
}

function ourParams(chooser: Chooser): Entry[] {
  const texts = chooser.some(5, () => prose(chooser).slice(0, 900));
  const from = chooser.chance(0.8) ? 0 : chooser.below(5);
  const total = chooser.chance(0.8) ? from + texts.length : chooser.below(12);
  return [
    ["texts", JSON.stringify(texts)],
    ["from", String(from)],
    ["total", String(total)],
    ["wing", argument(chooser, "wing")],
    ["room", argument(chooser, "room")],
    ["sourceFile", JSON.stringify(`/fuzz/${chooser.below(40)}.md`)],
    ["mtime", String(chooser.below(1_000_000))],
    ["sha256", JSON.stringify("0".repeat(64))],
    ["content", JSON.stringify(`# ${prose(chooser).slice(0, 20_000)}\n\n`.repeat(chooser.between(1, 30)))],
    ["addedBy", '"fuzz"'],
    ["query", argument(chooser, "query")],
    ["limit", argument(chooser, "limit")],
    ["mode", JSON.stringify(chooser.pick(["auto", "lexical", "vector", "hybrid", "none"]))],
  ];
}

/** Returns parameters with few distinct conversations and titles, so that conversations continue and titles repeat. */
function outcomeParams(chooser: Chooser): Entry[] {
  const text = (): string => JSON.stringify(prose(chooser).slice(0, 2_000));
  const entries: Entry[] = [
    ["conversation", JSON.stringify(chooser.chance(0.95) ? `fuzz/${chooser.below(8)}` : chooser.text())],
    ...["prompt", "user", "assistant", "content", "new_content", "key_takeaway", "query"].map((key): Entry => [
      key,
      text(),
    ]),
    ["project", argument(chooser, "wing")],
    ["isFresh", chooser.pick(["true", "false"])],
    ["isCompacted", chooser.pick(["true", "false"])],
    ["isDetailed", chooser.pick(["true", "false"])],
    ["signals", JSON.stringify(chooser.some(2, () => chooser.pick(SIGNALS)))],
    ["sinceMs", chooser.chance(0.9) ? "0" : chooser.number()],
    ["metadata", chooser.chance(0.7) ? '{"model":"m","rating":1}' : chooser.json(2)],
    ["exchange", argument(chooser, "drawer_id")],
    ["title", JSON.stringify(`book ${chooser.below(20)}`)],
    ["source", argument(chooser, "wing")],
    ["size", chooser.chance(0.9) ? String(chooser.between(100, 2_000)) : chooser.number()],
    ["overlap", chooser.chance(0.9) ? String(chooser.below(50)) : chooser.number()],
    ["old_content", text()],
    ["outcome", argument(chooser, "outcome")],
    ["initial_score", argument(chooser, "outcome")],
    ["memory_scores", scores(chooser)],
    ["tags", '["fuzz"]'],
    ["importance", chooser.number()],
    ["limit", argument(chooser, "limit")],
    ["days_back", argument(chooser, "limit")],
    ["collections", JSON.stringify(chooser.some(2, () => chooser.pick(["working", "books", "patterns", "none"])))],
    ["metadata_filters", chooser.json(3)],
    ["sort_by", JSON.stringify(chooser.pick(["relevance", "recency", "score", "best"]))],
  ];
  // A search by id uses no other argument.
  if (chooser.chance(0.3)) entries.push(["id", argument(chooser, "drawer_id")], ["collection", '"working"']);
  return entries.filter(() => chooser.chance(0.95));
}
