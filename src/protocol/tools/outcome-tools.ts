/**
 * Rows of the tool table: memory that learns from outcomes, as Roampal's server lists it (outcome-memory.md 5). The tools' names have no
 * prefix. The profile `outcome` lists only these tools.
 */
import { integer, number, oneOf, type PropertySchema, READ, text, texts, tool, WRITE } from "./row.ts";

const OUTCOMES = ["worked", "failed", "partial", "unknown"];
const OUTCOME = oneOf(OUTCOMES, "What came of it; unknown changes nothing");
const COLLECTION = oneOf(["books", "working", "history", "patterns", "memory_bank"], "A collection");
const SURFACE = { surface: "outcome", isMasked: true } as const;
const SCORES: PropertySchema = {
  type: "object",
  additionalProperties: { type: "string", enum: OUTCOMES },
  description:
    "Outcome of each memory by its id: worked = it helped, partial = a little, failed = it misled (not: it was not used), unknown = not used",
};

export const OUTCOME_TOOLS = {
  search_memory: tool(
    { ...READ, ...SURFACE },
    "Search the memory of earlier conversations, facts and books. Use it when the user refers to something said before, or asks for what you may have learned.",
    {
      query: text("What to look for"),
      days_back: integer("Only of the last days", { minimum: 1, maximum: 365 }),
      id: text("A memory's id, to read that one"),
      collections: { type: "array", items: COLLECTION, description: "Only these collections (default: all)" },
      limit: integer("Results (default 5)", { minimum: 1, maximum: 20 }),
      metadata: { type: "object", description: "Values that the memories' fields must have" },
      sort_by: oneOf(["relevance", "recency", "score"], "Order (default relevance)"),
    },
  ),
  add_to_memory_bank: tool(
    { ...WRITE, ...SURFACE },
    "Keep a fact for good: who the user is (tag identity), preferences (preference), goals (goal), projects (project), how to use this memory (system_mastery), what you learned about yourself (agent_growth). Nothing that only matters today.",
    {
      "content*": text("The fact, in a sentence of its own"),
      tags: texts("identity, preference, goal, project, system_mastery, agent_growth, or others"),
      importance: number("0 to 1 (default 0.7)", { minimum: 0, maximum: 1 }),
      confidence: number("0 to 1 (default 0.7)", { minimum: 0, maximum: 1 }),
      always_inject: { type: "boolean", description: "Show it in every conversation (default false)" },
    },
  ),
  update_memory: tool(
    { ...WRITE, ...SURFACE, spool: "never", isPrepared: true },
    "Correct a fact of the memory bank that is no longer right.",
    {
      "old_content*": text("The fact as it stands, or its id"),
      "new_content*": text("The fact as it is now"),
    },
  ),
  delete_memory: tool(
    { ...WRITE, ...SURFACE, spool: "never", isPrepared: true },
    "Take a fact out of the memory bank that is wrong or no longer wanted.",
    { "content*": text("The fact, or its id") },
  ),
  get_context_insights: tool(
    { ...READ, ...SURFACE },
    "What is known of a topic before you answer: the best four memories and the facts that are always shown.",
    { "query*": text("The topic") },
  ),
  record_response: tool(
    { ...WRITE, ...SURFACE },
    "Keep what is worth knowing of an answer, in a sentence. Only for something that will matter again.",
    {
      "key_takeaway*": text("What to keep"),
      initial_score: oneOf(["worked", "failed", "partial"], "What came of it so far"),
    },
  ),
  score_memories: tool(
    { ...WRITE, ...SURFACE, isPrepared: true },
    "Tell what came of your last answer, and how useful each memory was that you were shown for it. Every id that is listed must be scored; others that you can see may be.",
    { "outcome*": OUTCOME, "memory_scores*": SCORES },
  ),
};
