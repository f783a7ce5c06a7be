/** Outcomes of drawers that were shown, and standings (the sums of a drawer's outcomes). */
import type { HelpedWeek, HostSignal } from "../../protocol/outcome.ts";

export type { HelpedWeek };

/** An outcome as the ledger stores it. */
export type Telling = "worked" | "failed" | "partial";
/** An outcome as an agent states it. `unknown` changes nothing and is not stored. */
export type Outcome = Telling | "unknown";

/** An outcome with its Unix time (ms). `reason`: the words that were given with it. */
export type PastOutcome = { outcome: Telling; atMs: number; reason: string | null };

/** Event that counts as an outcome although nobody stated one, such as a failed test or a repeated question. */
export type Signal = HostSignal | "asked-again";
/** Source of an outcome. `judge`: a language model that the user has configured. */
export type OutcomeSource = "agent" | "user" | "judge" | Signal;

/** A question for which memories were shown. Its text is not stored, only numbers for its concepts. */
export type Question = {
  /** Kind of conversation in which the question was asked. */
  context: string;
  /** Numbers of the concepts. The first numbers serve to recognise a repeated question. */
  concepts: readonly number[];
};

/** One outcome of a drawer, without any text of the user. */
export type Scored = {
  atMs: number;
  outcome: Telling;
  source: OutcomeSource;
  /** Weight of the source, 0…1. */
  weight: number;
  /** Conversation in which the outcome was given; null if unknown. */
  conversation: string | null;
  /** Drawer with the question and answer that the outcome is about. */
  exchange: string | null;
  /** Question for which the memory was shown, and the memory's collection then. Null if unknown, and for a drawer that is not a memory. */
  question: (Question & { collection: string }) | null;
};

/** Number of outcomes of each kind. */
export type Told = Readonly<Record<Telling, number>>;

/** An outcome of a memory that was shown for a question with some of the same concepts. */
export type Answered = Question & { id: string; collection: string; outcome: Telling; atMs: number };

/** Sum of a drawer's outcomes. */
export type Standing = {
  /** Score, 0…1, six decimals. */
  score: number;
  uses: number;
  /** Sum of outcomes: `worked` counts 1, `partial` 0.5. It has no maximum, and stays the same when the memory changes its collection. */
  successes: number;
  lastUsedMs: number | null;
  /** Past outcomes, the newest last. */
  past: readonly PastOutcome[];
};

/** Standings of drawers. A standing is deleted with its drawer. Concurrency and errors: as LedgerTx. */
export interface StandingTx {
  /** Returns undefined for a drawer that never had an outcome. */
  find(id: string): Standing | undefined;
  /** `scored`: the outcome that changed the standing. The ledger keeps only a drawer's newest outcomes. */
  put(id: string, standing: Standing, scored?: Scored): void;
  /** Returns a drawer's newest outcomes, oldest first. */
  scored(id: string): Scored[];
  /** Returns the standing with its outcomes and questions in the form of before-images: one JSON array. */
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
  /** The agent's name and the id that the agent gave the conversation. */
  id: string;
  agent: string;
  /** Number of the user's messages so far. */
  turn: number;
  /** True once the agent has answered, so that the user's next message is a reaction to the answer. */
  isCompleted: boolean;
  /** True if the agent is asked in this turn to score the previous exchange. */
  isAsked: boolean;
  /** True if the previous exchange was scored. */
  isScored: boolean;
  /** Drawer of the last question and answer; null if these were not stored. */
  exchange: string | null;
  /** Drawers that were scored in this turn. */
  scored: readonly string[];
  atMs: number;
};

/** Selects turns. `prefix`: beginning of the ids of a profile's conversations; "" selects the profile `default`. */
export type TurnFilter = { prefix: string; conversation?: string | undefined };

/** Turn in which the drawers `ids` were shown. `atMs`: time of the conversation's last turn. */
export type ShownTurn = { conversation: string; agent: string; turn: number; atMs: number; ids: string[] };

/** Conversations. `id`: a conversation's id. Concurrency and errors: as LedgerTx. */
export interface ConversationTx {
  find(id: string): Conversation | undefined;
  put(conversation: Conversation): void;
  show(id: string, turn: number, drawers: readonly string[]): void;
  /** Makes the drawers shown before `turn` count as not shown, so that they may be shown again. `shownAt` still returns them. */
  showAnew(id: string, turn: number): void;
  shownAt(id: string, turn: number): string[];
  /** Returns the conversations since `sinceMs` that wait for scores, the newest first. */
  asked(sinceMs: number): Conversation[];
  /** Removes the conversations without a turn since `atMs`. */
  dropBefore(atMs: number): void;
}
