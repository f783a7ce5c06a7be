/** Rows of the tool table for memory that learns from outcomes, with the tool names of Roampal's server (outcome-memory.md 5). */
import { integer, number, oneOf, type PropertySchema, READ, text, texts, tool, WRITE } from "./row.ts";

const OUTCOMES = ["worked", "failed", "partial", "unknown"];
const OUTCOME = oneOf(OUTCOMES, "Result of your last answer; unknown changes nothing");
const COLLECTION = oneOf(["books", "working", "history", "patterns", "memory_bank"], "A collection");
const SURFACE = { surface: "outcome", isMasked: true } as const;
const SCORES: PropertySchema = {
  type: "object",
  additionalProperties: { type: "string", enum: OUTCOMES },
  description:
    "Outcome of each memory by its id: worked = it helped, partial = it helped a little, failed = it misled you, unknown = unused (not failed)",
};

export const OUTCOME_TOOLS = {
  search_memory: tool(
    { ...READ, ...SURFACE },
    "Search the memory of earlier conversations, facts and books. Use it when the user refers to something said before, or asks about something you may have learned.",
    {
      query: text("What to look for"),
      days_back: integer("Only the last N days", { minimum: 1, maximum: 365 }),
      id: text("Id of one memory to read"),
      collections: { type: "array", items: COLLECTION, description: "Only these collections (default: all)" },
      limit: integer("Maximum results (default 5)", { minimum: 1, maximum: 20 }),
      metadata: { type: "object", description: "Field values that a memory must have" },
      sort_by: oneOf(["relevance", "recency", "score"], "Order (default relevance)"),
    },
  ),
  add_to_memory_bank: tool(
    { ...WRITE, ...SURFACE },
    "Store a lasting fact: who the user is (tag identity), preferences (preference), goals (goal), projects (project), how to use this memory (system_mastery), what you learned about yourself (agent_growth). Do not store what only matters today.",
    {
      "content*": text("The fact, as a complete sentence"),
      tags: texts("identity, preference, goal, project, system_mastery, agent_growth, or others"),
      importance: number("0 to 1 (default 0.7)", { minimum: 0, maximum: 1 }),
      confidence: number("0 to 1 (default 0.7)", { minimum: 0, maximum: 1 }),
      always_inject: { type: "boolean", description: "Show it in every conversation (default false)" },
    },
  ),
  update_memory: tool(
    { ...WRITE, ...SURFACE, spool: "never", isPrepared: true },
    "Correct a fact of the memory bank that is no longer true.",
    {
      "old_content*": text("The stored fact, or its id"),
      "new_content*": text("The corrected fact"),
    },
  ),
  delete_memory: tool(
    { ...WRITE, ...SURFACE, spool: "never", isPrepared: true },
    "Remove a fact from the memory bank that is wrong or no longer wanted.",
    { "content*": text("The fact, or its id") },
  ),
  get_context_insights: tool(
    { ...READ, ...SURFACE },
    "Call before you answer, to read what is known about a topic: the four best memories and the facts that are always shown.",
    { "query*": text("The topic") },
  ),
  record_response: tool(
    { ...WRITE, ...SURFACE },
    "Store the takeaway of an answer in one sentence. Call it only if the takeaway will matter again.",
    {
      "key_takeaway*": text("The takeaway"),
      initial_score: oneOf(["worked", "failed", "partial"], "Result so far"),
    },
  ),
  score_memories: tool(
    { ...WRITE, ...SURFACE, isPrepared: true },
    "Report the result of your last answer, and how useful each memory was that you saw for it. Score every listed id; you may score others that you see.",
    { "outcome*": OUTCOME, "memory_scores*": SCORES },
  ),
};
