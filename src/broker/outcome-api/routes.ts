/** Roampal's HTTP API, one row for each route. Source: outcome-memory.md 4.4–4.13. */
import { setTimeout as delay } from "node:timers/promises";
import { BOOK_MAX_BYTES, CONVERSATION_ID_MAX } from "../../protocol/limits.ts";
import { keptSaid } from "../../learning/answer.ts";
import type { FactRequest, RecallRequest, ScoreRequest } from "../../protocol/outcome.ts";
import type { Health, MethodName, Methods, StatusReport } from "../../protocol/spec.ts";
import type { Field, Fields, Values } from "./fields.ts";
import { healthOf } from "./health.ts";
import { Refused } from "./refused.ts";

export type Asker = {
  /** Calls a method. Errors: Refused. */
  call: <M extends MethodName>(method: M, params: Methods[M]["params"]) => Promise<Methods[M]["result"]>;
  health: () => Health;
  status: () => StatusReport;
};

export type ApiRoute = Readonly<{
  method: "GET" | "POST";
  fields: Fields;
  /** Name of a required text field. If the text is missing, the status is 400, not 422. */
  needs?: "content" | "title";
  answer: (asker: Asker, given: never) => unknown;
}>;

const COLLECTIONS: readonly string[] = ["working", "history", "patterns", "memory_bank", "books"];
const OUTCOMES = ["worked", "failed", "partial", "unknown"];
/** A turn may end shortly before its scores arrive, so `stop` checks for them this often. */
const SCORES_WAIT = { times: 10, everyMs: 50 };
const HINT_CHARACTERS = 60;

const TEXT: Field = { type: "text" };
const REQUIRED: Field = { type: "text", isRequired: true };
const TEXTS: Field = { type: "texts" };
const CONVERSATION: Field = { type: "text", high: CONVERSATION_ID_MAX };
const SHARE: Field = { type: "number", low: 0, high: 1 };

export const API_ROUTES: Readonly<Record<string, ApiRoute>> = {
  "/api/hooks/get-context": post({ query: REQUIRED, conversation_id: CONVERSATION }, getContext),
  "/api/hooks/stop": post(
    {
      ...{ conversation_id: CONVERSATION, user_message: TEXT, assistant_response: TEXT },
      ...{ lifecycle_only: { type: "yes or no" }, metadata: { type: "object" } },
    },
    stop,
  ),
  "/api/hooks/check-scored": get({ conversation_id: CONVERSATION }, checkScored),
  "/api/search": post(
    {
      ...{ query: { type: "text", high: 2000 }, id: { type: "text", high: 200 }, conversation_id: CONVERSATION },
      days_back: { type: "integer", low: 1, high: 365 },
      collections: TEXTS,
      limit: { type: "integer", low: 1, high: 500 },
      metadata_filters: { type: "object" },
      sort_by: { type: "text", oneOf: ["relevance", "recency", "score"] },
    },
    search,
  ),
  "/api/memory-bank/add": post(
    { content: TEXT, tags: TEXTS, importance: SHARE, confidence: SHARE, always_inject: { type: "yes or no" } },
    async ({ call }, fact: FactRequest) => ({ success: true, doc_id: (await call("fact.add", fact)).id }),
    "content",
  ),
  "/api/memory-bank/update": post({ old_content: TEXT, id: TEXT, new_content: REQUIRED }, updateFact),
  "/api/memory-bank/archive": post(
    { content: TEXT },
    async ({ call }, { content }: { content: string }) => ({
      success: (await call("fact.archive", { content })).id !== null,
    }),
    "content",
  ),
  "/api/record-outcome": post(
    {
      conversation_id: CONVERSATION,
      outcome: { type: "text", oneOf: OUTCOMES },
      exchange_outcome: { type: "text", oneOf: OUTCOMES },
      memory_scores: { type: "object" },
      ...{ related: TEXTS, exchange_summary: TEXT, facts: TEXTS },
    },
    recordOutcome,
  ),
  "/api/record-response": post(
    {
      ...{ key_takeaway: REQUIRED, conversation_id: CONVERSATION },
      initial_score: { type: "text", oneOf: ["worked", "failed", "partial"] },
    },
    async ({ call }, { conversation_id: _of, ...given }: Takeaway) => ({
      ...{ success: true, doc_id: (await call("outcome.record", given)).id },
    }),
  ),
  "/api/context-insights": post({ query: REQUIRED, conversation_id: CONVERSATION }, contextInsights),
  "/api/ingest": post(
    { content: TEXT, title: TEXT, source: TEXT, chunk_size: { type: "integer" }, chunk_overlap: { type: "integer" } },
    ingest,
    "content",
  ),
  "/api/books": get({}, books),
  "/api/remove-book": post({ title: TEXT }, removeBook, "title"),
  "/api/memory/update-content": post({ doc_id: REQUIRED, collection: REQUIRED, new_content: REQUIRED }, updateContent),
  "/api/memory/auto-summarize-one": post({}, () => ({ summarized: false, reason: "no_candidates" })),
  "/api/health": get({}, ({ health, status }) => healthOf(health(), status())),
  "/api/stats": get({}, stats),
};

type Takeaway = Methods["outcome.record"]["params"] & { conversation_id?: string };
type InConversation = { conversation_id?: string };

function post<V extends object>(
  fields: Fields,
  answer: (asker: Asker, given: V) => unknown,
  needs?: ApiRoute["needs"],
): ApiRoute {
  return { method: "POST", fields, answer, ...(needs !== undefined && { needs }) };
}

function get<V extends Values>(fields: Fields, answer: (asker: Asker, given: V) => unknown): ApiRoute {
  return { method: "GET", fields, answer };
}

function conversationOf({ conversation_id: id }: InConversation): string {
  return id === undefined || id === "" ? "default" : id;
}

async function getContext({ call }: Asker, given: InConversation & { query: string }): Promise<unknown> {
  const asked = { conversation: conversationOf(given), prompt: given.query, isDetailed: true };
  const { context, scoring, plainScoring, fields } = await call("turn.begin", asked);
  const { exchange = null, toScore = [], facts = [], memories = [] } = fields ?? {};
  return {
    formatted_injection: [scoring, context].filter((part) => part !== "").join("\n"),
    ...{ scoring_prompt: scoring, scoring_prompt_simple: plainScoring, context_only: context },
    ...{ scoring_required: scoring !== "", scoring_exchange: exchange },
    scoring_memories:
      exchange === null
        ? null
        : toScore.map(({ id, text }) => ({
            ...{ id, content: text, content_hint: text.slice(0, HINT_CHARACTERS).toWellFormed() },
          })),
    ...{ user_facts: facts, relevant_memories: memories, context_summary: "" },
  };
}

type Stopped = InConversation & {
  user_message?: string;
  assistant_response?: string;
  metadata?: Record<string, string>;
};

async function stop({ call }: Asker, given: Stopped): Promise<unknown> {
  const { user_message: user = "", assistant_response: assistant = "", metadata } = given;
  const conversation = conversationOf(given);
  for (let times = 0; times < SCORES_WAIT.times; times++) {
    const { isAsked, isScored } = await call("turn.scored", { conversation });
    if (!isAsked || isScored) break;
    await delay(SCORES_WAIT.everyMs);
  }
  const said = { conversation, user, assistant };
  const { id, scored } = await call("turn.end", { ...said, ...(metadata !== undefined && { metadata }) });
  return { stored: id !== null, doc_id: id ?? "", scoring_complete: scored, should_block: false, block_message: null };
}

/** Replaces a fact. Roampal 0.6.0 sends only the fact's id, and null for unchanged fields. */
async function updateFact(
  { call }: Asker,
  given: { old_content?: string; id?: string; new_content: string },
): Promise<unknown> {
  const { old_content: old = given.id, new_content } = given;
  if (old === undefined)
    throw new Refused(422, [{ loc: ["body", "old_content"], msg: "Field required", type: "missing" }]);
  const { id } = await call("fact.update", { old_content: old, new_content });
  return { success: id !== null, doc_id: id };
}

async function checkScored({ call }: Asker, given: InConversation): Promise<unknown> {
  return { scored: (await call("turn.scored", { conversation: conversationOf(given) })).isScored };
}

async function search({ call }: Asker, given: InConversation & RecallRequest): Promise<unknown> {
  const { conversation_id: _of, ...asked } = given;
  const unknown = asked.collections?.find((name) => !COLLECTIONS.includes(name));
  if (unknown !== undefined) throw new Refused(400, `Unknown collection: ${unknown}`);
  const { memories, ...notes } = await call("outcome.search", asked);
  return { query: asked.id || (asked.query ?? ""), count: memories.length, results: memories, ...notes };
}

async function recordOutcome({ call }: Asker, given: InConversation & ScoreRequest): Promise<unknown> {
  const { conversation_id: _of, ...asked } = given;
  const done = await call("outcome.score", { ...asked, conversation: conversationOf(given) });
  const { outcome, memories, summary, facts, settled } = done;
  const counts = { documents_scored: memories, summary_stored: summary > 0, ...(facts > 0 && { facts_stored: facts }) };
  return { success: true, outcome, ...counts, ...(settled.length > 0 && { settled, detail: keptSaid(settled) }) };
}

async function contextInsights({ call }: Asker, { query }: { query: string }): Promise<unknown> {
  if (query.trim() === "") throw new Refused(422, "query must not be blank");
  const { facts, memories } = await call("outcome.insights", { query });
  const ids = new Set([...facts, ...memories].map(({ id }) => id));
  return { user_facts: facts, relevant_memories: memories, doc_ids: [...ids] };
}

type Ingest = { content: string; title?: string; source?: string; chunk_size?: number; chunk_overlap?: number };

async function ingest({ call }: Asker, given: Ingest): Promise<unknown> {
  const { content, title = "Untitled", source = "unknown", chunk_size: size, chunk_overlap: overlap } = given;
  if (Buffer.byteLength(content) > BOOK_MAX_BYTES) throw new Refused(413, `content exceeds ${BOOK_MAX_BYTES} bytes`);
  const cut = { ...(size !== undefined && { size }), ...(overlap !== undefined && { overlap }) };
  const book = await call("book.ingest", { content, title, source, ...cut });
  const ids = Array.from({ length: book.chunks }, (_, at) => `${book.id}_chunk_${at}`);
  return { success: true, title: book.title, chunks: book.chunks, doc_ids: ids, is_new: book.isNew };
}

async function books({ call }: Asker): Promise<unknown> {
  const { books: held } = await call("book.list", {});
  const told = held.map(({ title, source, at, chunks }) => ({ title, source, created_at: at, chunk_count: chunks }));
  return { success: true, books: told };
}

async function removeBook({ call }: Asker, given: { title: string }): Promise<unknown> {
  const { title, removed } = await call("book.remove", given);
  const message = removed === 0 ? `No book has the title ${title}` : `Removed ${removed} chunks of ${title}`;
  return { success: removed > 0, removed, title, message, cleaned_kg_refs: 0 };
}

type Content = { doc_id: string; collection: string; new_content: string };

async function updateContent({ call }: Asker, { doc_id: id, collection, new_content }: Content): Promise<unknown> {
  if (!COLLECTIONS.includes(collection)) throw new Refused(400, `Unknown collection: ${collection}`);
  const written = await call("outcome.rewrite", { id, collection, new_content });
  if (written.id === null) throw new Refused(404, `No such document in ${collection}: ${id}`);
  return { success: true, doc_id: written.id, new_length: written.length };
}

async function stats({ call, status }: Asker): Promise<unknown> {
  const { collections } = await call("outcome.stats", {});
  const counts = Object.entries(collections).map(([name, count]) => [name, { count }]);
  return { initialized: true, data_path: status().home, collections: Object.fromEntries(counts) };
}
