/** What goes over the wire of memory that learns from outcomes: what a host can tell of a turn, and what a person or a program is told. */

/** An exchange that its agent was asked about and has not scored; null where there is none. `reply`: what the user has said to it.
 * `memories`: what was shown for it; `sinceMs`: when the turn began that is to judge it. */
export type OwedScore = {
  exchange: { id: string; user: string; assistant: string } | null;
  reply: string;
  sinceMs: number;
  memories: readonly { id: string; text: string }[];
};

/** What an agent's host has recorded of a turn, sent with its end: what they do is engine/outcome/signal.ts. */
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
   * The last ones, oldest first. `by`: `agent`, `user`, `judge`, or a signal's name, and `weight` how much that was believed, 0…1; both null for
   * an outcome of before ledgers noted them.
   */
  outcomes: { at: string; outcome: string; reason: string | null; by: string | null; weight: number | null }[];
  /**
   * What it was shown for, in numbers. `asked`: different questions that are known; `solved`: of these, those that it is a solution of;
   * `answers`: outcomes by the kind of talk and the collection of then.
   */
  questions: {
    asked: number;
    solved: number;
    answers: { context: string; collection: string; worked: number; failed: number; partial: number }[];
  };
  /** The fact of the graph that it states and that is over: it is shown after what still holds. */
  over: { fact: string; ended: string } | null;
  moves: { from: string; to: string; timestamp: string; score: number; uses: number }[];
  /** Conversations it was shown in, and when they last went on, the newest first. */
  shownIn: { conversation: string; turn: number; at: string }[];
};

export type MemoryWhy = { found: false } | ({ found: true } & MemoryTold);

export type MemoryStats = { collections: Record<string, number>; archived: number; conversations: number };

/** `source`: the file it was read from; `at`: when. */
export type Book = { title: string; source: string; at: string; chunks: number };

/** A memory as programs are told of it; more fields by its collection, and of a search (outcome-memory.md 2.12). */
export type MemoryFields = Record<string, unknown> & { id: string; content: string; collection: string };

/** `exchange` null: nothing is asked. `toScore`: what was shown for it. */
export type TurnFields = {
  exchange: { user: string; assistant: string } | null;
  toScore: readonly { id: string; text: string }[];
  /** Those that are always shown, and what fits the prompt. */
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
 * `conversation`: whose exchange it is, where that is known; else the memories tell. `related`: ids that have the exchange's outcome,
 * in place of `memory_scores`. `exchange_summary`: takes the place of the exchange. `facts`: each becomes a memory of its own.
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
 * `memories`: those that were found; `summary`: characters of the one that is kept; `facts`: how many were stored. `settled`: memories
 * that have another outcome from this turn already, and keep it. `gone`: drawers that were taken out, and the score they had by then.
 * `atMs`: when the write arrived, as `palace history undo` counts.
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

/** `query` empty: everything, the newest first. `id`: that memory alone. `metadata_filters`: outcome-memory.md 3.4. */
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
 * A memory on its way from a Roampal's folder or to one, with the fields and the id that it has there. `collection`: the one it is in there,
 * where a fact that was archived stays a fact.
 */
export type CarriedMemory = {
  id: string;
  collection: string;
  text: string;
  metadata: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
};

/** What became of each; those that are in no list are here already, just so. Ids are the folder's. */
export type ImportReport = {
  added: string[];
  /** Here as they came last time, and changed over there since. */
  updated: string[];
  /** Other than over there, since they were scored or changed here; they stay as they are. */
  kept: string[];
  /** They came before, and have gone here since; they stay away. */
  gone: string[];
  refused: { id: string; why: string }[];
  /** Added ones that are older than their collection keeps them. */
  overdue: number;
};

/**
 * `others`: drawers on the page that are no memories. `next`: what asks for the next page; null after the last. `isShifted`: drawers before
 * the page have gone, and the pages no longer fit together.
 */
export type CarriedPage = {
  memories: CarriedMemory[];
  others: number;
  total: number;
  next: { from: number; after: string } | null;
  isShifted: boolean;
};

/** In a Roampal's folder. */
export const CARRIED_GRAPHS = ["knowledge_graph.json", "content_graph.json", "memory_relationships.json"] as const;

/**
 * An entry of one of its graphs. `at`: the file, the section and the name; without the name where the section has none, the file alone where
 * it is empty. `value`: JSON.
 */
export type CarriedEntry = { at: readonly string[]; value: string };

/** The others were here, just so. */
export type GraphReport = { added: number; updated: number };

/** `next`: asks for the next page; null after the last. */
export type GraphPage = { entries: CarriedEntry[]; next: string | null };
