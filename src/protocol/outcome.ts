/** What goes over the wire of memory that learns from outcomes: what a host can tell of a turn, and what a person is told. */

/** What an agent's host has recorded of a turn, sent with its end: what they do is engine/outcome/signal.ts. */
export const HOST_SIGNALS = ["tests-passed", "tests-failed", "command-failed", "reverted"] as const;
export type HostSignal = (typeof HOST_SIGNALS)[number];

export function isHostSignal(value: unknown): value is HostSignal {
  return HOST_SIGNALS.includes(value as HostSignal);
}

export type MemoryTold = {
  id: string;
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
   * The last ones, oldest first. `by`: `agent`, `user`, or a signal's name, and `weight` how much that was believed, 0…1; both null for
   * an outcome of before ledgers noted them.
   */
  outcomes: { at: string; outcome: string; reason: string | null; by: string | null; weight: number | null }[];
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
