/** Wire types of forgetting, undo and the journal. */

/** Selects what to forget. `match`: everything that contains this text. */
export type ForgetSelector = { ids: string[] } | { source: string } | { match: string };

/**
 * Fingerprint of a text to forget, with which a client finds whole copies of the text in its spool. `piece`: an excerpt of the text. `at`:
 * the excerpt's position. `length`: the text's length. Both count UTF-16 units. `sha256`: digest of the whole text, hex.
 */
export type TextMark = { piece: string; at: number; length: number; sha256: string };

/**
 * Preview of a forget. `traces`: excerpts of the texts, to find copies in other files. `ids`: ids of facts and entities; they consist of
 * the same words, in lower case. `carried`: number of entries imported from Roampal's graphs. Older brokers send no `marks`, `ids` or
 * `carried`.
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

/** Numbers of forgotten items. `images`: before-images. `erasure`: items that the broker must still erase from its files. */
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

/** Progress of erasing forgotten texts from files. `notes`: where fragments of a text may remain. */
export type ErasureReport = { pending: number; problems: string[]; notes: string[] };

/** Selects writes, newest first. `imported`: only imported writes, instead of this memory's own. `before`: `next` of the previous page. */
export type AuditRequest = {
  agent?: string;
  tool?: string;
  sinceMs?: number;
  imported?: boolean;
  before?: number;
  limit: number;
};

/** Write in the journal. `at_ms`: time of arrival. `claimed_ms`: the time that the client gave, if it is earlier. */
export type AuditEntry = {
  /** Row number in the journal. An imported write has the number of its original journal. */
  seq: number;
  /** Path of the memory from which the write was imported. */
  imported_from?: string;
  at_ms: number;
  claimed_ms?: number;
  agent: string;
  door: string;
  uid: number;
  pid: number;
  method: string;
  request_id: string;
  /** Arguments of the call: long texts are replaced by length and hash, and known kinds of secrets are masked. */
  arguments: Record<string, unknown>;
};

/** Page of the journal. `next`: value of `before` for the next page; null after the last page. A page may be empty and have a `next`. */
export type AuditPage = { entries: AuditEntry[]; next: number | null };

/** Selects writes to undo. `seq`: only this journal row, without other writes of the same millisecond. Older brokers ignore it. */
export type UndoRequest = { agent: string; sinceMs: number; untilMs: number; seq?: number };
export type UndoReport = {
  writes: number;
  /** The `seq` of the request. Older brokers send no `seq` and undo all selected writes. */
  seq?: number;
  /** Number of writes that cannot be undone, because their before-images have expired. */
  too_old: number;
  /** Writes for which the client gave a time before their arrival, and the earliest of these times. Absent if there are none. */
  dated_by_client?: { writes: number; earliest_ms: number };
  /** Arrival of the agent's last selected write, else of its last write. Absent if the agent never wrote. Older brokers never send it. */
  latest_ms?: number;
  /** Agents that wrote in the selected time, at most 20, the most frequent first. */
  agents: string[];
  removed: number;
  restored: number;
  reverted: number;
  refused: number;
  /** Changes that the undo makes. `preview`: the text that it removes or restores; set only by `memory.undoPreview`. */
  items: {
    kind: string;
    id: string;
    change: "remove" | "restore" | "revert" | "refused";
    by?: string;
    preview?: string;
  }[];
};
