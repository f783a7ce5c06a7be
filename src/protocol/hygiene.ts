/** Requests and answers of forgetting and undo, on the stream and in the command line. Shapes alone. */

/** Selects the items to forget, in exactly one of three ways. `match`: everything that contains this text exactly. */
export type ForgetSelector = { ids: string[] } | { source: string } | { match: string };

/**
 * Identifies one text that would be forgotten among others that begin alike: a piece of it, the piece's position and
 * the text's length in UTF-16 code units, and the SHA-256 of the whole text, hex.
 */
export type TextMark = { piece: string; at: number; length: number; sha256: string };

/**
 * `traces`: pieces of the texts, by which other files are searched. `ids`: of facts and entities, which are made of
 * their words in lower case. `carried`: entries of a Roampal's graphs. `marks`, `ids` and `carried` are absent in the answer of an older
 * broker.
 */
export type ForgetPreview = {
  drawers: { drawer_id: string; wing: string; room: string; source_file: string; preview: string }[];
  total: number;
  missing: string[];
  facts: number;
  links: number;
  carried?: number;
  sources: string[];
  traces: string[];
  marks?: TextMark[];
  ids?: string[];
};

/** Numbers of forgotten items; `carried`: entries of a Roampal's graphs. `erasure` counts what still has to be erased from files. */
export type Forgotten = {
  drawers: number;
  facts: number;
  links: number;
  carried?: number;
  journalRows: number;
  images: number;
  erasure: number;
};

export type ForgetResult = Forgotten & { drawer_ids: string[]; missing: string[] };

/** Progress of erasing from files. `notes`: places where traces may stay. */
export type ErasureReport = { pending: number; problems: string[]; notes: string[] };

/**
 * Writes of the journal, the newest first. `imported`: those that an import brought from other memories, instead of this memory's own.
 * `before`: where the page before ended; absent: from the newest.
 */
export type AuditRequest = {
  agent?: string;
  tool?: string;
  sinceMs?: number;
  imported?: boolean;
  before?: number;
  limit: number;
};

/**
 * One write: its agent, its door, its time of arrival and, if the client dates it earlier, that date; and its
 * arguments.
 */
export type AuditEntry = {
  /** Number of the row in the journal of the memory that did the write. */
  seq: number;
  /** The memory that did the write, if it is another one: the path that it was imported from. */
  imported_from?: string;
  at_ms: number;
  claimed_ms?: number;
  agent: string;
  door: string;
  uid: number;
  pid: number;
  method: string;
  request_id: string;
  /** Long texts appear as length and hash; secrets of well-known shape are masked. */
  arguments: Record<string, unknown>;
};

/** Page of the journal. `next`: pass it as `before` to continue; null after the last page. A page may be empty although others follow. */
export type AuditPage = { entries: AuditEntry[]; next: number | null };

export type UndoRequest = { agent: string; sinceMs: number; untilMs: number };
export type UndoReport = {
  writes: number;
  /** Writes whose changes are no longer known. */
  too_old: number;
  /**
   * Writes that their client dates before their arrival: they were spooled, or the client claims so. Absent: there are
   * none.
   */
  dated_by_client?: { writes: number; earliest_ms: number };
  /**
   * Latest arrival of these writes; if there are none, the arrival of the agent's newest write. Absent: the agent has
   * written nothing, or the broker is an older one.
   */
  latest_ms?: number;
  /** Everybody who wrote in that time, the most frequent first. */
  agents: string[];
  removed: number;
  restored: number;
  reverted: number;
  refused: number;
  /** `preview` is set only in a preview: the text that goes away or comes back. */
  items: {
    kind: string;
    id: string;
    change: "remove" | "restore" | "revert" | "refused";
    by?: string;
    preview?: string;
  }[];
};
