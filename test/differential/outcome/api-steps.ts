/** Makes seeded random steps (HTTP requests and tool calls) that Roampal and we execute on one memory each. */
import { seededRandom } from "../../helpers/random.ts";

/** `@3@` in a step is the id from the answer to step 3; `@3:history@` is that memory's id after it has moved to `history`. */
export type Step =
  | { via: "http"; method: "GET" | "POST"; path: string; body?: unknown }
  | { via: "list" }
  | { via: "tool"; name: string; arguments: Record<string, unknown> };

const TOPICS =
  "harbour kettle lantern orchard piano quarry river saddle tunnel violin walnut yoghurt anchor barrel".split(" ");
const STEPS = 650;
const TAGS = ["identity", "preference", "goal", "project"];
const OUTCOMES = ["worked", "partial", "failed"] as const;
const BOOK = "Boilers want water. Kettles want it, too! Do lanterns? They want oil. ".repeat(9).trim();

class Script {
  readonly steps: Step[] = [];
  readonly facts: number[] = [];
  readonly takeaways: number[] = [];
  readonly #random: () => number;
  #named = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }

  /** Returns a new text that differs from all earlier ones. */
  text(): string {
    this.#named += 1;
    return `${this.pick(TOPICS)} ${this.pick(TOPICS)} note${this.#named}`;
  }

  post(path: string, body: unknown): number {
    return this.steps.push({ via: "http", method: "POST", path: `/api/${path}`, body }) - 1;
  }

  get(path: string): number {
    return this.steps.push({ via: "http", method: "GET", path: `/api/${path}` }) - 1;
  }

  call(name: string, args: Record<string, unknown>): number {
    return this.steps.push({ via: "tool", name, arguments: args }) - 1;
  }
}

export function apiSteps(seed: number): Step[] {
  const script = new Script(seed);
  script.steps.push({ via: "list" });
  script.get("health");
  script.get("stats");
  for (const [path, body] of WRONG) script.post(path, body);
  for (let times = 0; times < 3; times++) {
    keepFact(script);
    keepTakeaway(script, "http");
  }
  while (script.steps.length < STEPS) script.pick(ACTS)(script);
  for (const at of script.takeaways) script.post("search", { id: `@${at}@` });
  script.get("stats");
  return script.steps;
}

function keepFact(script: Script): void {
  const content = script.text();
  const weights = { importance: script.pick([0.5, 0.7, 0.9]), confidence: script.pick([0.4, 0.7, 1]) };
  const fact = { content, tags: [script.pick(TAGS)], noun_tags: ["note"], ...weights };
  const isTool = script.pick([true, false]);
  script.facts.push(isTool ? script.call("add_to_memory_bank", fact) : script.post("memory-bank/add", fact));
}

function changeFact(script: Script): void {
  const at = script.pick(script.facts);
  const body = { id: `@${at}@`, old_content: `@${at}@`, new_content: script.text() };
  if (script.pick([true, false])) script.call("update_memory", body);
  else script.post("memory-bank/update", body);
  script.post("search", { id: `@${at}@` });
}

function dropFact(script: Script): void {
  const content = script.text();
  const at = script.post("memory-bank/add", { content, noun_tags: ["note"] });
  if (script.pick([true, false])) script.call("delete_memory", { content });
  else script.post("memory-bank/archive", { content });
  script.post("search", { id: `@${at}@` });
}

function keepTakeaway(script: Script, via = script.pick(["http", "tool"])): number {
  const args = { key_takeaway: script.text(), initial_score: "worked", noun_tags: ["note"] };
  if (via === "tool") return script.call("record_response", args);
  const at = script.post("record-response", { ...args, conversation_id: "ses_takeaways" });
  script.takeaways.push(at);
  return at;
}

/** Adds two turns. Each scores two memories that were made for it, and the exchange of the turn before. */
function turns(script: Script): void {
  const made = [0, 1].map(() => keepTakeaway(script, "http"));
  turn(script, Object.fromEntries(made.map((at) => [`@${at}@`, script.pick(OUTCOMES)])));
  const moved = made.map((at) => `@${at}@`);
  turn(script, Object.fromEntries(moved.map((id) => [id, script.pick(["worked", "partial"])])));
  for (const at of made) for (const id of [`@${at}@`, `@${at}:history@`]) script.post("search", { id });
}

function turn(script: Script, memory_scores: Record<string, string>): void {
  const conversation_id = `ses_${script.steps.length}`;
  const query = script.text();
  script.post("hooks/get-context", { query, conversation_id });
  const said = { conversation_id, user_message: query, assistant_response: `an answer to ${query}` };
  const exchange = script.post("hooks/stop", said);
  script.post("hooks/get-context", { query: "thank you", conversation_id });
  script.get(`hooks/check-scored?conversation_id=${conversation_id}`);
  script.post("record-outcome", { conversation_id, outcome: script.pick(OUTCOMES), memory_scores });
  script.get(`hooks/check-scored?conversation_id=${conversation_id}`);
  for (const id of [`@${exchange}@`, ...Object.keys(memory_scores)]) script.post("search", { id });
}

function readBook(script: Script): void {
  const title = `Book ${script.steps.length}`;
  const size = script.pick([{}, { chunk_size: 200, chunk_overlap: 50 }, { chunk_size: 100, chunk_overlap: 0 }]);
  const book = { content: BOOK, title, source: "b.md", ...size };
  const at = script.post("ingest", book);
  if (script.pick([true, false])) script.post("ingest", book);
  script.post("search", { id: `@${at}@` });
  script.get("books");
  if (script.pick([true, false])) for (let times = 0; times < 2; times++) script.post("remove-book", { title });
}

function look(script: Script): void {
  const query = `${script.pick(TOPICS)} note`;
  const more = script.pick([{}, { days_back: 3 }, { collections: ["memory_bank"] }, { sort_by: "recency" }]);
  script.post("search", { query, limit: script.pick([1, 5, 10]), ...more });
  script.call("search_memory", { query, limit: script.pick([1, 5, 20]), ...more });
}

function list(script: Script): void {
  const filters = script.pick([{}, { metadata_filters: { type: "key_takeaway" } }, { metadata_filters: { uses: 1 } }]);
  const more = script.pick([{}, { collections: ["working", "history"] }, { sort_by: "score" }, { days_back: 1 }]);
  script.post("search", { limit: 500, ...filters, ...more });
}

function rewrite(script: Script): void {
  const at = script.pick(script.takeaways);
  script.post("memory/update-content", { doc_id: `@${at}@`, collection: "working", new_content: script.text() });
}

function ask(script: Script): void {
  script.post("context-insights", { query: script.text() });
  script.call("search_memory", { id: `@${script.pick(script.facts)}@` });
  script.call("search_memory", { id: "working_ffffffff" });
  script.call("search_memory", {});
  script.call("record_response", { key_takeaway: "", noun_tags: ["note"] });
  script.call("no_such_tool", {});
}

const ACTS: ((script: Script) => unknown)[] = [
  keepFact,
  keepFact,
  keepTakeaway,
  keepTakeaway,
  changeFact,
  dropFact,
  turns,
  readBook,
  look,
  look,
  list,
  rewrite,
  ask,
];

/** Invalid requests, and requests that are barely valid. */
const WRONG: [path: string, body: unknown][] = [
  ["hooks/get-context", {}],
  ["hooks/get-context", { query: 5 }],
  ["hooks/get-context", { query: null }],
  ["hooks/stop", { conversation_id: "ses_x", user_message: 5 }],
  ["hooks/stop", { conversation_id: "ses_x", user_message: "a", lifecycle_only: "maybe" }],
  ["hooks/stop", { conversation_id: "ses_x", user_message: " ", assistant_response: "b" }],
  ["hooks/stop", { user_message: "", assistant_response: "" }],
  ["search", { limit: 0 }],
  ["search", { limit: 501 }],
  ["search", { limit: 1.5 }],
  ["search", { limit: "5" }],
  ["search", { days_back: 0 }],
  ["search", { days_back: 366 }],
  ["search", { sort_by: "age" }],
  ["search", { query: "x".repeat(2_001) }],
  ["search", { id: "x".repeat(201) }],
  ["search", { conversation_id: "x".repeat(201) }],
  ["search", { query: ["x"] }],
  ["search", { collections: "working" }],
  ["search", { collections: ["shelves"] }],
  ["search", { metadata_filters: [] }],
  ["search", { id: "working_00000000" }],
  ["search", { id: "nothing" }],
  ["search", []],
  ["memory-bank/add", {}],
  ["memory-bank/add", { content: 5 }],
  ["memory-bank/add", { content: "x", tags: "identity" }],
  ["memory-bank/add", { content: "x", importance: "much" }],
  ["memory-bank/update", { old_content: "x" }],
  ["memory-bank/archive", {}],
  ["memory-bank/archive", { content: "" }],
  ["memory-bank/archive", { content: 5 }],
  ["record-outcome", {}],
  ["record-outcome", { conversation_id: "ses_x" }],
  ["record-outcome", { conversation_id: "ses_x", outcome: "great" }],
  ["record-outcome", { conversation_id: "ses_x", outcome: "worked", memory_scores: ["a"] }],
  ["record-outcome", { conversation_id: "ses_x", outcome: "worked", related: "a" }],
  ["record-response", {}],
  ["record-response", { conversation_id: "ses_x", key_takeaway: 5 }],
  ["ingest", {}],
  ["ingest", { content: "" }],
  ["ingest", []],
  ["remove-book", {}],
  ["remove-book", { title: "" }],
  ["remove-book", { title: "no such book" }],
  ["memory/update-content", {}],
  ["memory/update-content", { doc_id: "x", collection: "shelves", new_content: "y" }],
  ["memory/update-content", { doc_id: "working_00000000", collection: "working", new_content: "y" }],
  ["nothing", {}],
  ["books", {}],
  ["health", {}],
];
