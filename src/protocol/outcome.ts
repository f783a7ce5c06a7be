/** Wire types of memory that learns from outcomes. */

/**
 * Scores that an agent has not given yet. `exchange`: the exchange to score; null if there is none. `reply`: the user's next message.
 * `memories`: memories shown for the exchange. `sinceMs`: start of the turn that began with `reply`.
 */
export type OwedScore = {
  exchange: { id: string; user: string; assistant: string } | null;
  reply: string;
  sinceMs: number;
  memories: readonly { id: string; text: string }[];
};

/** Results of tools in a turn, which the agent's plug-in or hook sends. learning/scoring/signal.ts defines their effect on scores. */
export const HOST_SIGNALS = ["tests-passed", "tests-failed", "command-failed", "reverted"] as const;
export type HostSignal = (typeof HOST_SIGNALS)[number];

export function isHostSignal(value: unknown): value is HostSignal {
  return HOST_SIGNALS.includes(value as HostSignal);
}

export type MemoryTold = {
  id: string;
  drawer: string;
  wing: string;
  room: string;
  text: string;
  /** Score, 0…1; null for a drawer that was never scored. */
  score: number | null;
  uses: number;
  successes: number;
  /** Wilson's lower bound of the memory's success rate; null for an unused memory. */
  proven: number | null;
  /** Last outcomes, oldest first. `by`: `agent`, `user`, `judge` or a HostSignal. `weight`: our trust in `by`, 0…1. Both may be null. */
  outcomes: { at: string; outcome: string; reason: string | null; by: string | null; weight: number | null }[];
  /**
   * Questions for which the memory was shown. `asked`: number of different questions. `solved`: number of questions that the memory
   * solved. `answers`: numbers of outcomes by the question's topic (`context`) and by the memory's collection at that time.
   */
  questions: {
    asked: number;
    solved: number;
    answers: { context: string; collection: string; worked: number; failed: number; partial: number }[];
  };
  /** Fact of the graph that the memory states and that has ended, else null. Such a memory is shown after current memories. */
  over: { fact: string; ended: string } | null;
  moves: { from: string; to: string; timestamp: string; score: number; uses: number }[];
  /** Conversations in which the memory was shown, newest first. `at`: the conversation's last activity. */
  shownIn: { conversation: string; turn: number; at: string }[];
};

export type MemoryWhy = { found: false } | ({ found: true } & MemoryTold);

/**
 * Outcomes of the memories that one agent's conversations showed. A conversation counts in the week of its last activity. `week`: the
 * week's Monday, UTC. `shown`: memories, counted once per conversation. `worked`, `partial`, `failed`: memories with this last outcome.
 */
export type HelpedWeek = {
  week: string;
  agent: string;
  shown: number;
  worked: number;
  partial: number;
  failed: number;
};

/** Statistics of memories. `helped`: weeks of the newest 500 conversations, oldest first; missing in the answer of older brokers. */
export type MemoryStats = {
  collections: Record<string, number>;
  archived: number;
  conversations: number;
  helped?: HelpedWeek[];
};

/** Memory that a turn showed. `drawer`: null if the memory is deleted. `outcomes`: only those of this conversation, oldest first. */
export type ShownMemory = {
  id: string;
  drawer: string | null;
  place: string;
  text: string;
  score: number | null;
  outcomes: { at: string; outcome: string; by: string }[];
  moves: MemoryTold["moves"];
};

/** Page of turns that showed memories, newest first, out of the newest 500 conversations. `at`: the conversation's last activity. */
export type TurnPage = {
  turns: { conversation: string; agent: string; turn: number; at: string; memories: ShownMemory[] }[];
  total: number;
  offset: number;
  limit: number;
};

/** Stored book. `source`: the book's file. `at`: time when the broker stored the book. */
export type Book = { title: string; source: string; at: string; chunks: number };

/** Memory as data for programs. Some collections and searches add fields (outcome-memory.md 2.12). */
export type MemoryFields = Record<string, unknown> & { id: string; content: string; collection: string };

/** Content of a turn as data for programs. `exchange`: the exchange to score, or null. `toScore`: memories shown for the exchange. */
export type TurnFields = {
  exchange: { user: string; assistant: string } | null;
  toScore: readonly { id: string; text: string }[];
  /** `facts`: shown in every turn. `memories`: related to the prompt. */
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
 * Scores of a turn. `conversation`: if absent, the broker finds the conversation by the memories. `related`: ids that all get `outcome`,
 * instead of `memory_scores`. `exchange_summary`: replaces the exchange's stored text. `facts`: each becomes a separate memory.
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
 * Result of a ScoreRequest. `memories`: number of memories scored. `summary`: characters of the stored summary. `facts`: number of facts
 * stored. `settled`: ids that keep another outcome, from an earlier call in this turn. `gone`: drawers that the score deleted. `atMs`: time
 * of arrival, by which `palace history undo` selects writes.
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

/** Search of memories. `query`: empty for all memories, newest first. `metadata_filters`: see outcome-memory.md 3.4. */
export type RecallRequest = {
  query?: string;
  id?: string;
  days_back?: number;
  collections?: string[];
  limit?: number;
  metadata_filters?: Record<string, unknown>;
  sort_by?: "relevance" | "recency" | "score";
};
/** Memory of a Roampal folder, with Roampal's own id and collection. Roampal leaves an archived fact in the collection of facts. */
export type CarriedMemory = {
  id: string;
  collection: string;
  text: string;
  metadata: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
};

/** Result of an import. The ids are Roampal's. A memory that is in none of the lists was already here, unchanged. */
export type ImportReport = {
  added: string[];
  /** Memories that changed in the folder since their last import and did not change here. */
  updated: string[];
  /** Memories that were scored or changed here. The broker keeps its version. */
  kept: string[];
  /** Memories that an earlier import added and that were then deleted here. The broker does not add them again. */
  gone: string[];
  refused: { id: string; why: string }[];
  /** Number of added memories that are older than their collection's maximum age. */
  overdue: number;
};

/**
 * Page of an export. `others`: number of drawers on the page that are not memories. `next`: params for the next page; null after the last
 * page. `isShifted`: drawers before this page were deleted during the export, so the pages do not fit together.
 */
export type CarriedPage = {
  memories: CarriedMemory[];
  others: number;
  total: number;
  next: { from: number; after: string } | null;
  isShifted: boolean;
};

export const CARRIED_GRAPHS = ["knowledge_graph.json", "content_graph.json", "memory_relationships.json"] as const;

/** Entry of a graph file. `value`: JSON. `at`: file, section and name. The name, or section and name, may be missing. */
export type CarriedEntry = { at: readonly string[]; value: string };

/** Numbers of changed entries. All other imported entries were already here, unchanged. */
export type GraphReport = { added: number; updated: number };

/** Page of graph entries. `next`: value of `after` for the next page; null after the last page. */
export type GraphPage = { entries: CarriedEntry[]; next: string | null };
