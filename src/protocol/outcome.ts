/** Wire types of memory that learns from outcomes: a host's reports about a turn, and the broker's answers to people and programs. */

/**
 * Scores that an agent should have given and has not given yet. `exchange`: the exchange to score; null if there is none. `reply`: the
 * user's answer to the exchange. `memories`: memories shown for the exchange. `sinceMs`: start of the turn that judges the exchange.
 */
export type OwedScore = {
  exchange: { id: string; user: string; assistant: string } | null;
  reply: string;
  sinceMs: number;
  memories: readonly { id: string; text: string }[];
};

/** Signals that an agent's host records during a turn and sends at its end. learning/scoring/signal.ts defines their effects. */
export const HOST_SIGNALS = ["tests-passed", "tests-failed", "command-failed", "reverted"] as const;
export type HostSignal = (typeof HOST_SIGNALS)[number];

export function isHostSignal(value: unknown): value is HostSignal {
  return HOST_SIGNALS.includes(value as HostSignal);
}

export type MemoryTold = {
  id: string;
  /** Id with which the drawer was filed. */
  drawer: string;
  wing: string;
  room: string;
  text: string;
  /** 0…1; null for a drawer without scores. */
  score: number | null;
  uses: number;
  successes: number;
  /** Wilson's lower bound of the memory's success rate; null if it was never used. */
  proven: number | null;
  /**
   * The last outcomes, oldest first. `by`: `agent`, `user`, `judge`, or a signal's name. `weight`: our trust in that source, 0…1. Both are
   * null for old outcomes, for which the ledger did not record them.
   */
  outcomes: { at: string; outcome: string; reason: string | null; by: string | null; weight: number | null }[];
  /**
   * Numbers of questions for which the memory was shown. `asked`: different questions; `solved`: questions that it solved; `answers`:
   * outcomes by the conversation's topic and the memory's collection at the time.
   */
  questions: {
    asked: number;
    solved: number;
    answers: { context: string; collection: string; worked: number; failed: number; partial: number }[];
  };
  /** The ended fact of the graph that this memory states; else null. A memory with an ended fact is shown after current memories. */
  over: { fact: string; ended: string } | null;
  moves: { from: string; to: string; timestamp: string; score: number; uses: number }[];
  /** Conversations in which the memory was shown, newest first. `at`: time when the conversation last continued. */
  shownIn: { conversation: string; turn: number; at: string }[];
};

export type MemoryWhy = { found: false } | ({ found: true } & MemoryTold);

/**
 * Outcomes of the memories shown in conversations that last continued in one week. `week`: the week's Monday, UTC. `shown`: number of
 * showings; a memory counts once in a conversation. `worked`, `partial`, `failed`: numbers of showings by their last outcome, if any.
 */
export type HelpedWeek = {
  week: string;
  agent: string;
  shown: number;
  worked: number;
  partial: number;
  failed: number;
};

/** Statistics of memories. `helped`: the weeks of the newest 500 kept conversations, oldest first. Older brokers do not send it. */
export type MemoryStats = {
  collections: Record<string, number>;
  archived: number;
  conversations: number;
  helped?: HelpedWeek[];
};

/** Memory as a turn showed it. `drawer`: null if the memory was removed since. `outcomes`: outcomes in this conversation, oldest first. */
export type ShownMemory = {
  id: string;
  drawer: string | null;
  place: string;
  text: string;
  score: number | null;
  outcomes: { at: string; outcome: string; by: string }[];
  moves: MemoryTold["moves"];
};

/** Page of turns that showed memories, in the newest 500 conversations, newest first. `at`: when the conversation last continued. */
export type TurnPage = {
  turns: { conversation: string; agent: string; turn: number; at: string; memories: ShownMemory[] }[];
  total: number;
  offset: number;
  limit: number;
};

/** A stored book. `source`: the book's file. `at`: time when the file was read. */
export type Book = { title: string; source: string; at: string; chunks: number };

/** Memory as fields for programs. Some collections, and searches, add fields (outcome-memory.md 2.12). */
export type MemoryFields = Record<string, unknown> & { id: string; content: string; collection: string };

/**
 * Texts of a turn as fields. `exchange`: the exchange to score, null if the turn asks for no scores. `toScore`: memories shown for the
 * exchange.
 */
export type TurnFields = {
  exchange: { user: string; assistant: string } | null;
  toScore: readonly { id: string; text: string }[];
  /** Facts that every turn shows. `memories`: memories that fit the prompt. */
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
 * Scores of a turn. `conversation`: absent if the client does not know it; the memories then identify the conversation. `related`: ids that
 * all get the exchange's outcome, instead of `memory_scores`. `exchange_summary`: replaces the exchange's text. `facts`: each becomes a
 * separate memory.
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
 * Result of a score. `memories`: number of memories found and scored. `summary`: characters of the stored summary. `facts`: number of facts
 * stored. `settled`: ids that keep a different outcome from an earlier call in this turn. `gone`: drawers that this score deleted, with
 * their last score. `atMs`: time of arrival, ms; `palace history undo` selects writes by this time.
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

/**
 * Search of memories. `query`: empty for all memories, newest first. `id`: only this memory. `metadata_filters`: see outcome-memory.md 3.4.
 */
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
 * Memory in a Roampal folder, with its fields, id and collection there. In that folder, an archived fact is still in the collection of
 * facts.
 */
export type CarriedMemory = {
  id: string;
  collection: string;
  text: string;
  metadata: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
};

/** Result of an import, with the ids in the folder. A memory that is in none of the lists already exists here, unchanged. */
export type ImportReport = {
  added: string[];
  /** Memories that changed in the folder since their last import and did not change here. */
  updated: string[];
  /** Memories that were scored or changed here and so differ from the folder. The broker keeps its version. */
  kept: string[];
  /** Memories that an earlier import added and that were deleted here since. They are not imported again. */
  gone: string[];
  refused: { id: string; why: string }[];
  /** Number of added memories that are older than the time for which their collection keeps memories. */
  overdue: number;
};

/**
 * Page of an export. `others`: number of drawers on the page that are not memories. `next`: params for the next page; null after the last
 * page. `isShifted`: drawers before this page were deleted meanwhile, so the pages no longer fit together.
 */
export type CarriedPage = {
  memories: CarriedMemory[];
  others: number;
  total: number;
  next: { from: number; after: string } | null;
  isShifted: boolean;
};

/** Graph files of a Roampal folder. */
export const CARRIED_GRAPHS = ["knowledge_graph.json", "content_graph.json", "memory_relationships.json"] as const;

/**
 * Entry of a graph file. `at`: file, section and name. A section without names has only file and section, an empty file only the file.
 * `value`: JSON.
 */
export type CarriedEntry = { at: readonly string[]; value: string };

/** Numbers of added and updated entries; all other entries already exist here, unchanged. */
export type GraphReport = { added: number; updated: number };

/** Page of entries. `next`: value of `after` for the next page; null after the last page. */
export type GraphPage = { entries: CarriedEntry[]; next: string | null };
