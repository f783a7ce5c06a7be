/** Outcomes of drawers that were shown, and the standings that sum them up. Implemented in ledger/. */
import type { HelpedWeek, HostSignal } from "../../protocol/outcome.ts";

export type { HelpedWeek };

/** An outcome that counts; `unknown` changes nothing and is not kept. */
export type Telling = "worked" | "failed" | "partial";
/** An outcome as an agent may state it. */
export type Outcome = Telling | "unknown";

/** An outcome on record. `atMs`: Unix time; `reason`: the words that came with it. */
export type PastOutcome = { outcome: Telling; atMs: number; reason: string | null };

/** Signal from which an outcome is inferred although nobody stated it. */
export type Signal = HostSignal | "asked-again";
/** Source of an outcome. `judge`: a language model that the user has configured. */
export type OutcomeSource = "agent" | "user" | "judge" | Signal;

/** Record of a question that memories were shown for. It has numbers for the question's concepts, never its text. */
export type Question = {
  /** Kind of talk that the question was asked in. */
  context: string;
  /** Numbers of its concepts. The first ones serve to recognise the question when it is asked again. */
  concepts: readonly number[];
};

/** One outcome of a drawer with its source. It has ids and flags, no words. */
export type Scored = {
  atMs: number;
  outcome: Telling;
  source: OutcomeSource;
  /** Weight of the source, 0…1. */
  weight: number;
  /** Conversation in which the outcome was told; null if unknown. */
  conversation: string | null;
  /** Id of the drawer with the question and answer that the outcome is about. */
  exchange: string | null;
  /** Question for which the memory was shown, and its collection at that time. Null if unknown, and for a drawer that is not a memory. */
  question: (Question & { collection: string }) | null;
};

/** Number of times that each outcome was told. */
export type Told = Readonly<Record<Telling, number>>;

/** An outcome of a memory that was shown for a question with some of the same concepts. */
export type Answered = Question & { id: string; collection: string; outcome: Telling; atMs: number };

/** Sum of a drawer's outcomes. */
export type Standing = {
  /** 0…1, six decimals. */
  score: number;
  uses: number;
  /** `worked` counts 1, `partial` 0.5; it is never capped, and survives a move. */
  successes: number;
  lastUsedMs: number | null;
  /** The newest is last. */
  past: readonly PastOutcome[];
};

/** Standings of drawers. A standing is deleted with its drawer. Concurrency and errors: as LedgerTx. */
export interface StandingTx {
  /** Returns the drawer's standing; undefined if it never had an outcome. */
  find(id: string): Standing | undefined;
  /** Writes a standing. `scored`: the outcome that changed it; the ledger keeps the newest outcomes of a drawer. */
  put(id: string, standing: Standing, scored?: Scored): void;
  /** Returns the newest outcomes of a drawer, oldest first. */
  scored(id: string): Scored[];
  /** Returns the standing with all its outcomes and their questions in the form of before-images: one JSON array. */
  bodyOf(id: string): string | undefined;
  putBody(id: string, body: string): void;
}

/** Entries of Roampal's graphs, which are only stored. Ids and values are JSON. Concurrency and errors: as LedgerTx. */
export interface CarriedTx {
  find(id: string): string | undefined;
  put(id: string, value: string): void;
}

/** State of a talk between a user and an agent. */
export type Conversation = {
  /** The agent's name and the agent's id of the conversation. */
  id: string;
  agent: string;
  /** Counts the user's messages. */
  turn: number;
  /** True once the agent has finished: the user's next message answers it. */
  isCompleted: boolean;
  /** True if this turn asks for scores of the exchange before it. */
  isAsked: boolean;
  /** The exchange before this turn was scored. */
  isScored: boolean;
  /** The drawer of the last question and answer; null where none is kept. */
  exchange: string | null;
  /** Drawers that were scored in this turn. */
  scored: readonly string[];
  atMs: number;
};

/** Selects turns. `prefix`: beginning of the ids of a profile's conversations; "" selects those of the profile `default`. */
export type TurnFilter = { prefix: string; conversation?: string | undefined };

/** Turn of a conversation in which drawers were shown. `atMs`: when the conversation went on last. `ids`: the drawers. */
export type ShownTurn = { conversation: string; agent: string; turn: number; atMs: number; ids: string[] };

/** Ids are drawers'. Concurrency and errors: as LedgerTx. */
export interface ConversationTx {
  find(id: string): Conversation | undefined;
  put(conversation: Conversation): void;
  show(id: string, turn: number, drawers: readonly string[]): void;
  /**
   * Makes the drawers shown before that turn count as not shown in later questions about them; `shownAt` still returns
   * them for their own turn.
   */
  showAnew(id: string, turn: number): void;
  shownAt(id: string, turn: number): string[];
  /** Returns the conversations that are asked for scores and went on since that time, the newest first. */
  asked(sinceMs: number): Conversation[];
  /** Removes the conversations that nobody has continued since. */
  dropBefore(atMs: number): void;
}
