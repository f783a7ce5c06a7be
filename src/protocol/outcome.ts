/** Wire types of memory that learns from outcomes: what a host reports about a turn, and what the broker answers to people and programs. */

/**
 * Exchange that its agent was asked about and has not scored; null if there is none. `reply`: the user's answer to the exchange.
 * `memories`: memories shown for the exchange. `sinceMs`: when the turn began that is to judge it.
 */
export type OwedScore = {
  exchange: { id: string; user: string; assistant: string } | null;
  reply: string;
  sinceMs: number;
  memories: readonly { id: string; text: string }[];
};

/** Signals that an agent's host records during a turn and sends with its end. Their effects are in learning/scoring/signal.ts. */
export const HOST_SIGNALS = ["tests-passed", "tests-failed", "command-failed", "reverted"] as const;
export type HostSignal = (typeof HOST_SIGNALS)[number];

export function isHostSignal(value: unknown): value is HostSignal {
  return HOST_SIGNALS.includes(value as HostSignal);
}

export type MemoryTold = {
  id: string;
  /** Id that the drawer was filed under. */
  drawer: string;
  wing: string;
  room: string;
  text: string;
  /** 0…1; null for a drawer that nobody ever scored. */
  score: number | null;
  uses: number;
  successes: number;
  /** Wilson's lower bound of its success; null without uses. */
  proven: number | null;
  /**
   * The last outcomes, oldest first. `by`: `agent`, `user`, `judge`, or a signal's name. `weight`: how much that source was believed,
   * 0…1. Both are null for an outcome that is older than the ledger's record of them.
   */
  outcomes: { at: string; outcome: string; reason: string | null; by: string | null; weight: number | null }[];
  /**
   * Questions that it was shown for, in numbers. `asked`: different questions known; `solved`: how many of them it has solved; `answers`:
   * outcomes by the topic of the conversation and the memory's collection at the time.
   */
  questions: {
    asked: number;
    solved: number;
    answers: { context: string; collection: string; worked: number; failed: number; partial: number }[];
  };
  /** Fact of the graph that the memory states and that has ended. The memory is shown after those that still hold. */
  over: { fact: string; ended: string } | null;
  moves: { from: string; to: string; timestamp: string; score: number; uses: number }[];
  /** Conversations in which it was shown, and when each last continued, newest first. */
  shownIn: { conversation: string; turn: number; at: string }[];
};

export type MemoryWhy = { found: false } | ({ found: true } & MemoryTold);

export type MemoryStats = { collections: Record<string, number>; archived: number; conversations: number };

/** `source`: the file it was read from; `at`: when. */
export type Book = { title: string; source: string; at: string; chunks: number };

/** Memory as fields for programs. Some collections, and a search, add more fields (outcome-memory.md 2.12). */
export type MemoryFields = Record<string, unknown> & { id: string; content: string; collection: string };

/** A turn's texts as fields. `exchange`: the exchange to score; null if the turn asks for no scores. `toScore`: memories shown for it. */
export type TurnFields = {
  exchange: { user: string; assistant: string } | null;
  toScore: readonly { id: string; text: string }[];
  /** Facts that are always shown; `memories` fit the prompt. */
  facts: readonly MemoryFields[];
  memories: readonly MemoryFields[];
};

export type FactRequest = {
  content: string;
  tags?: string[];
  importance?: number;
  confidence?: number;
  always_inject?: boolean;
};

/**
 * Scores of a turn. `conversation`: given if the client knows it, else the memories identify it. `related`: ids that all get the
 * exchange's outcome, instead of `memory_scores`. `exchange_summary` replaces the exchange's text. Each of `facts` becomes a memory of
 * its own.
 */
export type ScoreRequest = {
  outcome?: string;
  memory_scores?: Record<string, string>;
  related?: string[];
  conversation?: string;
  exchange_summary?: string;
  facts?: string[];
};

/**
 * Result of a score. `memories`: number of memories found and scored; `summary`: characters of the stored summary; `facts`: number of
 * facts stored. `settled`: ids of memories that an earlier call of this turn gave a different outcome; they keep the earlier one. `gone`:
 * drawers that this score deleted, with their last score. `atMs`: time the write arrived, ms; `palace history undo` selects by this time.
 */
export type ScoreResult = {
  outcome: string;
  memories: number;
  summary: number;
  facts: number;
  settled: string[];
  gone: { id: string; score: number }[];
  atMs: number;
};

/** Search of memories. `query` empty: all memories, newest first. `id`: only that memory. `metadata_filters`: outcome-memory.md 3.4. */
export type RecallRequest = {
  query?: string;
  id?: string;
  days_back?: number;
  collections?: string[];
  limit?: number;
  metadata_filters?: Record<string, unknown>;
  sort_by?: "relevance" | "recency" | "score";
};
/**
 * Memory as it is imported from, or exported to, a Roampal folder, with its fields and id there. `collection`: its collection there, in
 * which an archived fact is still a fact.
 */
export type CarriedMemory = {
  id: string;
  collection: string;
  text: string;
  metadata: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
};

/** Result of an import, in ids of the folder. Memories in none of the lists are already here, unchanged. */
export type ImportReport = {
  added: string[];
  /** Memories that are here as they were last imported, and have changed in the folder since. */
  updated: string[];
  /** Memories that were scored or changed here, and so differ from the folder. The broker keeps its own state. */
  kept: string[];
  /** Memories that were imported before and deleted here since. They are not imported again. */
  gone: string[];
  refused: { id: string; why: string }[];
  /** Number of added memories that are older than the lifetime of their collection. */
  overdue: number;
};

/**
 * Page of an export. `others`: number of drawers on the page that do not hold a memory. `next`: params of the next page; null after the
 * last. `isShifted`: drawers before this page were deleted meanwhile, so the pages no longer fit together.
 */
export type CarriedPage = {
  memories: CarriedMemory[];
  others: number;
  total: number;
  next: { from: number; after: string } | null;
  isShifted: boolean;
};

/** Files of graphs in a Roampal folder. */
export const CARRIED_GRAPHS = ["knowledge_graph.json", "content_graph.json", "memory_relationships.json"] as const;

/**
 * Entry of a graph file. `at`: file, section and name; file and section if the section has no names, the file alone if it is empty.
 * `value`: JSON.
 */
export type CarriedEntry = { at: readonly string[]; value: string };

/** Numbers of entries; the others were already here, unchanged. */
export type GraphReport = { added: number; updated: number };

/** Page of entries. `next`: pass it as `after` to continue; null after the last page. */
export type GraphPage = { entries: CarriedEntry[]; next: string | null };
