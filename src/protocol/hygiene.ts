/** Wire types of forgetting, undo and the journal. */

/** Selects the items to forget, in one of three ways. `match`: everything that contains exactly this text. */
export type ForgetSelector = { ids: string[] } | { source: string } | { match: string };

/**
 * Identifies one text to forget among others with the same beginning. `piece`: a part of the text; `at`: the part's position; `length`: the
 * text's length (both in UTF-16 units); `sha256`: digest of the whole text, hex.
 */
export type TextMark = { piece: string; at: number; length: number; sha256: string };

/**
 * Items that would be forgotten. `traces`: pieces of the texts, to find copies in other files. `ids`: ids of facts and entities, made from
 * their words in lower case. `carried`: entries of Roampal's graphs. Older brokers do not send `marks`, `ids` and `carried`.
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

/** Numbers of forgotten items. `carried`: entries imported from Roampal's graphs. `erasure`: items that must still be erased from files. */
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

/** Progress of erasing forgotten texts from files. `notes`: places where pieces of a text may remain. */
export type ErasureReport = { pending: number; problems: string[]; notes: string[] };

/**
 * Selects writes of the journal, newest first. `imported`: lists writes that an import brought, instead of this memory's own writes.
 * `before`: the value of `next` in the previous page. If it is missing, the page begins at the newest write.
 */
export type AuditRequest = {
  agent?: string;
  tool?: string;
  sinceMs?: number;
  imported?: boolean;
  before?: number;
  limit: number;
};

/** One write of the journal. `at_ms`: time of arrival. `claimed_ms`: the client's own date, if earlier. */
export type AuditEntry = {
  /** Row number in the journal of the memory that did the write. */
  seq: number;
  /** Path that the write was imported from, if another memory did it. */
  imported_from?: string;
  at_ms: number;
  claimed_ms?: number;
  agent: string;
  door: string;
  uid: number;
  pid: number;
  method: string;
  request_id: string;
  /** Arguments of the call: long texts as length and hash, secrets of well-known shape masked. */
  arguments: Record<string, unknown>;
};

/** Page of the journal. `next`: value of `before` for the next page; null after the last page. Even an empty page may have a `next`. */
export type AuditPage = { entries: AuditEntry[]; next: number | null };

/** Writes to undo. `seq`: journal row of the only write to undo, of all that arrived in the same millisecond. Older brokers ignore it. */
export type UndoRequest = { agent: string; sinceMs: number; untilMs: number; seq?: number };
export type UndoReport = {
  writes: number;
  /** The `seq` of the request. Older brokers do not send it: they undo all writes of that time. */
  seq?: number;
  /** Number of writes that cannot be undone, because the journal no longer has their changes. */
  too_old: number;
  /** Number of writes that the client dated before their arrival (it spooled them, or claims so), and the earliest date. Absent if 0. */
  dated_by_client?: { writes: number; earliest_ms: number };
  /**
   * Arrival of the latest of these writes; if there are none, arrival of the agent's newest write. Absent if the agent has written nothing,
   * or from older brokers.
   */
  latest_ms?: number;
  /** All agents that wrote from `sinceMs` to `untilMs`, the most frequent first. */
  agents: string[];
  removed: number;
  restored: number;
  reverted: number;
  refused: number;
  /** Changes of the undo. `preview`: the text that disappears or returns; only set in a preview. */
  items: {
    kind: string;
    id: string;
    change: "remove" | "restore" | "revert" | "refused";
    by?: string;
    preview?: string;
  }[];
};
