/** Lists the deliberate differences from the real Roampal. The test accepts only these, and fails if one is not needed. */
import { asksNothing } from "../../../src/protocol/small-talk.ts";
import type { RoampalVersion } from "../../helpers/python-roampal.ts";
import { isRecord, withoutKeys } from "../mend.ts";
import {
  bodyOf,
  entriesShared,
  type Entry,
  given,
  isPath,
  isTool,
  mapMemories,
  memoriesShared,
  places,
  type Row,
  statusOf,
  textOf,
} from "./api-mend.ts";
import type { Step } from "./api-steps.ts";
import { TOOL_DIFFERENCES } from "./tool-differences.ts";

export type ApiDifference = {
  name: string;
  versions: readonly RoampalVersion[];
  why: string;
  /** Returns both masked answers without the parts that may differ, or undefined if the entry does not apply. */
  mend: (theirs: unknown, ours: unknown, step: Step) => [unknown, unknown] | undefined;
};

const OLD = ["0.3.6.1"] as const;
const NEW = ["0.6.0"] as const;
const BOTH = ["0.3.6.1", "0.6.0"] as const;

/** Accepts the two statuses `theirs` and `ours`, whatever the bodies are. */
const statuses =
  (theirs: number, ours: number, is: (step: Step) => boolean): ApiDifference["mend"] =>
  (theirAnswer, ourAnswer, step) =>
    is(step) && statusOf(theirAnswer) === theirs && statusOf(ourAnswer) === ours ? [{}, {}] : undefined;

const without =
  (theirKeys: readonly string[], ourKeys: readonly string[], is: (step: Step) => boolean): ApiDifference["mend"] =>
  (theirs, ours, step) =>
    is(step) ? [withoutKeys(theirs, theirKeys), withoutKeys(ours, ourKeys)] : undefined;

const STANDING = [
  ...["content", "text", "score", "uses", "success_count", "last_outcome", "last_used", "outcome_history"],
  "original_id",
];
const DRAWER = [
  ...["wing", "room", "source_file", "chunk_index", "added_by", "query", "user_length", "initial_outcome"],
  ...["recency", "minutes_ago"],
];
const RANKING = [
  ...["embedding", "embedding_similarity", "embedding_weight", "learned_weight", "original_distance", "minutes_ago"],
  ...["distance", "similarity", "final_rank_score", "combined_score", "quality"],
];
const omit = (row: unknown, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(isRecord(row) ? row : {}).filter(([key]) => !keys.includes(key)));
const withoutFields = (told: unknown, keys: readonly string[]): unknown =>
  mapMemories(told, (memory) => ({ ...memory, metadata: omit(memory["metadata"], keys) }));

const hasOnlyFailed = (memory: Row): boolean => {
  const { success_count, uses } = { ...omit(memory["metadata"], []), ...memory };
  return success_count === 0 && Number(uses) > 0;
};
const isEntries = (told: unknown): told is Entry[] => Array.isArray(told);
const withoutHistoryBound = ({ notes, words }: Entry): Entry => ({
  ...{ notes: notes.startsWith("[history]") ? notes.replace(/ w:[\d.]+,/, "") : notes, words },
});

export const API_DIFFERENCES: readonly ApiDifference[] = [
  ...TOOL_DIFFERENCES,
  {
    name: "conversation-optional",
    versions: BOTH,
    why: "a request without a conversation uses the one called `default` (4.3); both packages refuse it",
    mend: (theirs, ours, step) => {
      const [a, b] = [places(theirs), places(ours)];
      const isKept = !isPath(step, "hooks/stop", "record-outcome", "record-response");
      if (isKept || a?.includes("body.conversation_id") !== true) return undefined;
      if (b !== undefined) return [{ places: a.filter((place) => place !== "body.conversation_id") }, { places: b }];
      return statusOf(ours) === 200 ? [{}, {}] : undefined;
    },
  },
  {
    name: "update-by-id",
    versions: NEW,
    why: "0.6.0 updates a fact only by its id; here its text works too (2.11)",
    mend: (theirs, ours, step) => {
      const [a, b] = [places(theirs), places(ours)];
      if (!isPath(step, "memory-bank/update") || a === undefined) return undefined;
      return [{ places: a.filter((place) => place !== "body.id") }, { places: b }];
    },
  },
  {
    name: "validation-words",
    versions: BOTH,
    why: "our error words an invalid value differently, beside its place, which is the same; it does not quote the value",
    mend: (theirs, ours) => {
      const [a, b] = [places(theirs), places(ours)];
      return a === undefined || b === undefined ? undefined : [{ places: a }, { places: b }];
    },
  },
  {
    name: "detail-words",
    versions: BOTH,
    why: "the meaning is the same in our own words; people read them",
    mend: (theirs, ours) => {
      const [a, b] = [theirs, ours].map((told) => bodyOf(told)?.["detail"]);
      if (typeof a !== "string" || typeof b !== "string") return undefined;
      return [{ status: statusOf(theirs) }, { status: statusOf(ours) }];
    },
  },
  {
    name: "outcome-optional",
    versions: BOTH,
    why: "a missing outcome means `unknown` (5.6); both packages refuse it",
    mend: statuses(422, 200, (step) => isPath(step, "record-outcome") && given(step)["outcome"] === undefined),
  },
  {
    name: "outcome-checked",
    versions: BOTH,
    why: "an invalid outcome is refused and scores nothing; both packages accept it and score nothing",
    mend: statuses(200, 422, (step) => given(step)["outcome"] === "great"),
  },
  {
    name: "content-required",
    versions: BOTH,
    why: "a fact without its text gets 400 as everywhere (4.3); both packages answer 422 only here",
    mend: statuses(422, 400, (step) => isPath(step, "memory-bank/add") && typeof given(step)["content"] !== "string"),
  },
  {
    name: "no-coercion",
    versions: BOTH,
    why: 'a number must not be a text: `"5"` is refused; both packages take it for 5',
    mend: statuses(200, 422, (step) => given(step)["limit"] === "5"),
  },
  {
    name: "unknown-collection",
    versions: BOTH,
    why: "an unknown collection gets 400 (4.3), because a search of a misspelled one would silently find nothing",
    mend: statuses(200, 400, (step) => isPath(step, "search") && String(given(step)["collections"]) === "shelves"),
  },
  {
    name: "insights-route",
    versions: BOTH,
    why: "the document has it (decision 10); both packages dropped it",
    mend: (theirs, ours, step) =>
      isPath(step, "context-insights") && statusOf(theirs) === 404
        ? [["doc_ids", "relevant_memories", "user_facts"], Object.keys(bodyOf(ours) ?? {}).toSorted()]
        : undefined,
  },
  {
    name: "health-identity",
    versions: BOTH,
    why: "it says whose server this is (4.12); a model that is loading or missing does not count as a failure; 0.6.0 reports its profiles and migrations",
    mend: without(
      ["embedding_ok", "migration", "profiles_loaded", "memory_initialized", "session_manager_ready"],
      [
        ...["data_path", "embedding", "embedding_ok", "instance_id", "pid", "service", "version"],
        ...["memory_initialized", "session_manager_ready"],
      ],
      (step) => step.via === "http" && step.path === "/api/health",
    ),
  },
  {
    name: "book-ids",
    versions: OLD,
    why: "the prefix is `books_` as in 0.6.0: `book_` does not name a collection, so a chunk would not be found by its id (D13)",
    mend: (theirs, ours, step) => {
      const renamed = JSON.parse(JSON.stringify(theirs).replaceAll("<book_chunk", "<books_chunk")) as unknown;
      const isChunk = String(given(step)["id"]).startsWith("@") && JSON.stringify(ours).includes("<books_chunk");
      const isLost = isPath(step, "search") && bodyOf(theirs)?.["count"] === 0 && isChunk;
      return isLost ? [{}, {}] : [renamed, ours];
    },
  },
  {
    name: "book-additions",
    versions: BOTH,
    why: "additive: whether a book is new, and `cleaned_kg_refs`, which the command line prints (4.11)",
    mend: without([], ["is_new", "cleaned_kg_refs"], (step) => isPath(step, "ingest", "remove-book")),
  },
  {
    name: "removed-for-good",
    versions: BOTH,
    why: "removing a book deletes it; both packages hide its chunks, count them and remove them again (D25)",
    mend: (theirs, ours, step) => {
      if (step.via === "http" && step.path === "/api/stats")
        return [withoutKeys(theirs, ["books"]), withoutKeys(ours, ["books"])];
      return isPath(step, "remove-book") && bodyOf(ours)?.["removed"] === 0 ? [{}, {}] : undefined;
    },
  },
  {
    name: "remove-message",
    versions: BOTH,
    why: "the message says what was done; both packages say nothing",
    mend: without(["message"], ["message"], (step) => isPath(step, "remove-book")),
  },
  {
    name: "old-ids-stay",
    versions: BOTH,
    why: "an id that was shown finds its memory wherever the memory is by now (2.2)",
    mend: (theirs, ours, step) => {
      const isMoved = isPath(step, "search") && bodyOf(theirs)?.["count"] === 0 && bodyOf(ours)?.["count"] === 1;
      return isMoved && /^@\d+(:history)?@$/.test(String(given(step)["id"])) ? [{}, {}] : undefined;
    },
  },
  {
    name: "wilson-of-failures",
    versions: BOTH,
    why: "a memory that only failed has proven nothing, as their own lookups say; their searches take its score for a rate of success",
    mend: (theirs, ours, step) => {
      const bare = (told: unknown): unknown =>
        isTool(step, "search_memory") && isRecord(told)
          ? { ...told, text: textOf(told)?.replaceAll(/ w:[\d.]+,(?= \d+ uses, \[N+\])/g, "") }
          : mapMemories(told, (memory) => (hasOnlyFailed(memory) ? omit(memory, ["wilson_score"]) : memory));
      return [bare(theirs), bare(ours)];
    },
  },
  {
    name: "standing-at-the-root",
    versions: BOTH,
    why: "text and state of a memory are at its root, as in both packages, and are not repeated in `metadata`",
    mend: (theirs, ours) => [withoutFields(theirs, STANDING), ours],
  },
  {
    name: "drawer-fields",
    versions: BOTH,
    why: "additive: a memory is a drawer of the palace, and says so in `metadata`; its question is kept with it (8.3)",
    mend: (theirs, ours) => [withoutFields(theirs, DRAWER), withoutFields(ours, DRAWER)],
  },
  {
    name: "takeaway-of-all",
    versions: BOTH,
    why: "a takeaway is kept for all conversations, so it does not show the data of one",
    mend: (theirs, ours) => {
      const free = (told: unknown): unknown =>
        mapMemories(told, (memory) => {
          const metadata = omit(memory["metadata"], []);
          return metadata["type"] === "key_takeaway"
            ? { ...memory, metadata: omit(metadata, ["conversation_id"]) }
            : memory;
        });
      return [free(theirs), ours];
    },
  },
  {
    name: "learned-score",
    versions: BOTH,
    why: "every answer has the score that ranks a memory (2.9); the listings of both packages have the bare score there",
    mend: (theirs, ours) =>
      [theirs, ours].map((told) => mapMemories(told, (memory) => omit(memory, ["learned_score"]))) as [
        unknown,
        unknown,
      ],
  },
  {
    name: "ranking-internals",
    versions: BOTH,
    why: "these are parts of their formula, and a rank without a question, which we do not have",
    mend: (theirs, ours) => [
      mapMemories(theirs, (memory) => omit(memory, RANKING)),
      mapMemories(ours, (memory) => omit(memory, [...RANKING, "effectiveness"])),
    ],
  },
  {
    name: "update-reason",
    versions: BOTH,
    why: "it names the tool, and theirs is `llm_update`",
    mend: (theirs, ours) => [withoutFields(theirs, ["update_reason"]), withoutFields(ours, ["update_reason"])],
  },
  {
    name: "search-order",
    versions: BOTH,
    why: "which memories fit a question, and in what order (docs/explanation/learning.md); memories that both show agree in everything that both have",
    mend: memoriesShared,
  },
  {
    name: "assent-shows-nothing",
    versions: BOTH,
    why: "a message of only thanks or assent shows no memories; both packages show some, although they resemble no question",
    mend: (theirs, ours, step) => {
      const [a, b] = [bodyOf(theirs), bodyOf(ours)];
      const isAssent = isPath(step, "hooks/get-context") && asksNothing(String(given(step)["query"] ?? "?"));
      if (!isAssent || a === undefined || b?.["context_only"] !== "") return undefined;
      return [{ ...(theirs as Row), body: { ...a, context_only: "" } }, ours];
    },
  },
  {
    name: "search-text-order",
    versions: BOTH,
    why: "as over HTTP, the entries that both show are the same",
    mend: (theirs, ours, step) =>
      step.via === "tool" && step.name === "search_memory" && step.arguments["query"] !== undefined
        ? entriesShared(theirs, ours)
        : undefined,
  },
  {
    name: "errors-marked",
    versions: OLD,
    why: "a failure also has `isError`; a client that ignores it sees the same text (5.1)",
    mend: (theirs, ours) =>
      textOf(theirs)?.startsWith("Error: ") === true && isRecord(ours) && ours["isError"] === true
        ? [theirs, { ...ours, isError: false }]
        : undefined,
  },
  {
    name: "unknown-tool",
    versions: BOTH,
    why: "an unknown tool is an error of the protocol, as MCP defines it; the words are the same",
    mend: (theirs, ours, step) =>
      isTool(step, "no_such_tool") && textOf(ours)?.includes(textOf(theirs) ?? "?") === true ? [{}, {}] : undefined,
  },
  {
    name: "archived-hidden",
    versions: NEW,
    why: "an archived fact is never found (decision 21); 0.6.0 finds it by its id and counts it",
    mend: (theirs, ours, step) => {
      if (step.via === "http" && step.path === "/api/stats")
        return [withoutKeys(theirs, ["memory_bank"]), withoutKeys(ours, ["memory_bank"])];
      const isArchived = JSON.stringify(theirs).includes('"status":"archived"');
      return isArchived && bodyOf(theirs)?.["count"] === 1 && bodyOf(ours)?.["count"] === 0 ? [{}, {}] : undefined;
    },
  },
  {
    name: "exchange-whole",
    versions: NEW,
    why: "an exchange is kept as it was said (decision 15); 0.6.0 keeps its sidecar's version, and facts and nouns beside it",
    mend: (theirs, ours) => {
      const whole = (told: unknown): unknown =>
        mapMemories(withoutKeys(told, ["noun_tags"]), (memory) => {
          const metadata = omit(memory["metadata"], ["memory_type", "turn_type"]);
          const isExchange = /^(?:User: |an answer to )/.test(String(memory["content"]));
          return { ...memory, metadata, ...(isExchange && { content: "<exchange>" }) };
        });
      return [whole(theirs), whole(ours)];
    },
  },
  {
    name: "successes-carried-forward",
    versions: NEW,
    why: "0.6.0 restarts its count after each promotion (decision 19)",
    mend: (theirs, ours) => {
      const moved = (told: unknown): unknown =>
        isEntries(told)
          ? told.map(withoutHistoryBound)
          : mapMemories(told, (memory) =>
              memory["collection"] === "history" ? omit(memory, ["success_count", "wilson_score"]) : memory,
            );
      return [moved(theirs), moved(ours)];
    },
  },
  {
    name: "checked-by-schema",
    versions: NEW,
    why: "0.6.0 refuses an empty text by the tool's schema; here the tool refuses it in the document's words (5.7)",
    mend: (theirs, ours, step) =>
      isTool(step, "record_response") && textOf(theirs)?.startsWith("Input validation error: ") === true
        ? [{ isError: true }, omit(ours, ["text"])]
        : undefined,
  },
  {
    name: "injection-token",
    versions: NEW,
    why: "0.6.0 asks hooks to confirm what was shown; here everything that was answered counts as shown",
    mend: (theirs, ours) => [withoutKeys(theirs, ["injection_token"]), ours],
  },
  {
    name: "always-shown-facts",
    versions: NEW,
    why: "0.6.0 has none any more",
    mend: (theirs, ours, step) =>
      isPath(step, "hooks/get-context", "search")
        ? [theirs, withoutFields(withoutKeys(ours, ["user_facts"]), ["always_inject"])]
        : undefined,
  },
  {
    name: "search-notes",
    versions: NEW,
    why: "0.6.0 reports its migration, and that its reranker is missing",
    mend: (theirs, ours) => [withoutKeys(theirs, ["migration", "rerank_skipped"]), ours],
  },
];
