/** Maps the name of each tool and method of src/learning to its function. */
import type { LedgerTx, WriteCall } from "../memory/port/ledger.ts";
import type { MemoryContext } from "../memory/tools/reads.ts";
import { answering, answeringLater, SAID } from "./answer.ts";
import { apart, ofDefault, ofProfile, profileIn, readerOf } from "./memory/profiles.ts";
import { addToBank, archiveFact, recordTakeaway, updateFact } from "./memory/facts.ts";
import { importGraph } from "./import/roampal-graph.ts";
import { importMemories } from "./import/import-memories.ts";
import { judgeTurn } from "./scoring/judge-turn.ts";
import { ingestBook, removeBook } from "./memory/books.ts";
import { findFact } from "./memory/find-fact.ts";
import { contextInsights, searchMemory } from "./search/recall.ts";
import { ageMemories } from "./scoring/retention.ts";
import { rewriteMemory } from "./memory/rewrite.ts";
import { scoreMemories, searchedFor } from "./scoring/score.ts";
import type { OwnSearches } from "./search/recent-searches.ts";
import { beginTurn, endTurn } from "./turn/turn.ts";

export type LearningContext = MemoryContext & { own: OwnSearches };

type Arguments = Record<string, unknown>;
type LearningRead = (context: LearningContext, values: Arguments) => unknown;
type Write = (tx: LedgerTx, call: WriteCall) => unknown;

export const LEARNING_READS = {
  search_memory: answeringLater((context, values) => searchMemory(apart(context, undefined), values, Date.now())),
  get_context_insights: answeringLater((context, values) =>
    contextInsights(apart(context, undefined), values, Date.now()),
  ),
} satisfies Record<string, LearningRead>;

export const LEARNING_WRITES = {
  add_to_memory_bank: ofDefault(answering(addToBank, SAID.added)),
  update_memory: ofDefault(answering(updateFact, SAID.updated)),
  delete_memory: ofDefault(answering(archiveFact, SAID.archived)),
  record_response: ofDefault(answering(recordTakeaway, SAID.recorded)),
  score_memories: ofDefault(answering(scoreMemories, SAID.scored)),
} satisfies Record<string, Write>;

export const LEARNING_METHODS = {
  "book.ingest": ofProfile(ingestBook),
  "book.remove": ofProfile(removeBook),
  "outcome.import": ofProfile(importMemories),
  "outcome.importGraph": ofDefault(importGraph),
  "turn.begin": ofProfile(beginTurn),
  "turn.end": ofProfile(endTurn),
  "turn.judge": ofProfile(judgeTurn),
  "fact.add": ofProfile(addToBank),
  "fact.update": ofProfile(updateFact),
  "fact.archive": ofProfile(archiveFact),
  "outcome.record": ofProfile(recordTakeaway),
  "outcome.score": ofProfile(scoreMemories),
  "outcome.rewrite": ofProfile(rewriteMemory),
} satisfies Record<string, Write>;

/** Writes that only the broker itself makes. No peer can call them. */
export const LEARNING_OWN_WRITES = { "memory.age": ofProfile(ageMemories) } satisfies Record<string, Write>;

/** Functions that collect a write's data on the main thread, before the writer thread applies the write. */
export const LEARNING_FINDINGS = {
  update_memory: (context, { old_content: fact }) => findFact(apart(context, undefined), fact, "update"),
  delete_memory: (context, { content: fact }) => findFact(apart(context, undefined), fact, "archive"),
  "fact.update": (context, values) => findFact(apart(context, profileIn(values)), values["old_content"], "update"),
  "fact.archive": (context, values) => findFact(apart(context, profileIn(values)), values["content"], "archive"),
  score_memories: ({ reader, own }, values) => searchedFor({ reader: readerOf(reader, undefined), own }, values),
  "outcome.score": ({ reader, own }, values) =>
    searchedFor({ reader: readerOf(reader, profileIn(values)), own }, values),
} satisfies Record<string, LearningRead>;
