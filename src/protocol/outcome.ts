/** Shapes of what a person is told of memory that learns from outcomes. Types alone. */

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
  /** The last ten, oldest first. */
  outcomes: { at: string; outcome: string; reason: string | null }[];
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
