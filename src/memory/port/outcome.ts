/** Outcomes of drawers that were shown, and the standings that sum them up. Implemented in ledger/. */
import type { HelpedWeek, HostSignal } from "../../protocol/outcome.ts";

export type { HelpedWeek };

/** An outcome that is stored. The outcome `unknown` changes nothing and is not stored. */
export type Telling = "worked" | "failed" | "partial";
/** An outcome as an agent may state it. */
export type Outcome = Telling | "unknown";

/** A stored outcome. `atMs`: Unix time; `reason`: the words that were given with the outcome. */
export type PastOutcome = { outcome: Telling; atMs: number; reason: string | null };

/** Event that shows an outcome although no person or agent reported one. */
export type Signal = HostSignal | "asked-again";
/** Source of an outcome. `judge`: a language model that the user has configured. */
export type OutcomeSource = "agent" | "user" | "judge" | Signal;

/** A stored question for which memories were shown. It has numbers for the question's concepts, never its text. */
export type Question = {
  /** Kind of conversation in which the question was asked. */
  context: string;
  /** Numbers of the question's concepts. The first numbers serve to recognise the question when it is asked again. */
  concepts: readonly number[];
};

/** One outcome of a drawer with its source. It has ids and flags, no words. */
export type Scored = {
  atMs: number;
  outcome: Telling;
  source: OutcomeSource;
  /** Weight of the source, 0…1. */
  weight: number;
  /** Conversation in which the outcome was given; null if unknown. */
  conversation: string | null;
  /** Id of the drawer with the question and answer that the outcome is about. */
  exchange: string | null;
  /** Question for which the memory was shown, and its collection at that time. Null if unknown, and for a drawer that is not a memory. */
  question: (Question & { collection: string }) | null;
};

/** Number of times that each outcome was given. */
export type Told = Readonly<Record<Telling, number>>;

/** An outcome of a memory that was shown for a question with some of the same concepts. */
export type Answered = Question & { id: string; collection: string; outcome: Telling; atMs: number };

/** Sum of a drawer's outcomes. */
export type Standing = {
  /** The score, 0…1, six decimals. */
  score: number;
  uses: number;
  /** Sum of outcomes: `worked` counts 1, `partial` 0.5. It has no maximum and stays the same when the memory moves. */
  successes: number;
  lastUsedMs: number | null;
  /** Past outcomes, the newest last. */
  past: readonly PastOutcome[];
};

/** Standings of drawers. A standing is deleted with its drawer. Concurrency and errors: as LedgerTx. */
export interface StandingTx {
  /** Returns the drawer's standing; undefined if the drawer never had an outcome. */
  find(id: string): Standing | undefined;
  /** Writes a standing. `scored`: the outcome that changed it. The ledger keeps only a drawer's newest outcomes. */
  put(id: string, standing: Standing, scored?: Scored): void;
  /** Returns the newest outcomes of a drawer, oldest first. */
  scored(id: string): Scored[];
  /** Returns the standing with all its outcomes and their questions in the form of before-images: one JSON array. */
  bodyOf(id: string): string | undefined;
  putBody(id: string, body: string): void;
}

/** Entries of Roampal's graphs, which are stored but not used. Ids and values are JSON. Concurrency and errors: as LedgerTx. */
export interface CarriedTx {
  find(id: string): string | undefined;
  put(id: string, value: string): void;
}

/** State of a conversation between a user and an agent. */
export type Conversation = {
  /** Id that consists of the agent's name and the id that the agent gave the conversation. */
  id: string;
  agent: string;
  /** Number of the user's messages so far. */
  turn: number;
  /** True once the agent has finished its turn, so that the user's next message is a reaction to it. */
  isCompleted: boolean;
  /** True if this turn asks for scores of the exchange before it. */
  isAsked: boolean;
  /** True if the exchange before this turn was scored. */
  isScored: boolean;
  /** The drawer of the last question and answer; null if they were not stored. */
  exchange: string | null;
  /** Drawers that were scored in this turn. */
  scored: readonly string[];
  atMs: number;
};

/** Selects turns. `prefix`: beginning of the ids of a profile's conversations; "" selects the profile `default`. */
export type TurnFilter = { prefix: string; conversation?: string | undefined };

/** Turn in which drawers were shown. `atMs`: time of the conversation's last turn. `ids`: the drawers. */
export type ShownTurn = { conversation: string; agent: string; turn: number; atMs: number; ids: string[] };

/** Reads and writes conversations. `id`: a conversation's id; `shownAt` returns ids of drawers. Concurrency and errors: as LedgerTx. */
export interface ConversationTx {
  find(id: string): Conversation | undefined;
  put(conversation: Conversation): void;
  show(id: string, turn: number, drawers: readonly string[]): void;
  /**
   * Makes the drawers shown before `turn` count as not shown, so that they may be shown again. `shownAt` still returns them for their own
   * turn.
   */
  showAnew(id: string, turn: number): void;
  shownAt(id: string, turn: number): string[];
  /** Returns the conversations that wait for scores and continued since `sinceMs`, the newest first. */
  asked(sinceMs: number): Conversation[];
  /** Removes the conversations that have not continued since `atMs`. */
  dropBefore(atMs: number): void;
}
