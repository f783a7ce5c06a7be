/** What forgetting and taking back ask for and answer, on the stream and in the command line. Shapes alone. */

/** What is to be forgotten: one of the three. `match`: whatever holds the text, to the character. */
export type ForgetSelector = { ids: string[] } | { source: string } | { match: string };

/**
 * One text that would go, told apart from others that begin alike: a piece of it, where in it that stands and how long all of it
 * is, UTF-16 code units, and the SHA-256 of all of it, hex.
 */
export type TextMark = { piece: string; at: number; length: number; sha256: string };

/**
 * `traces`: pieces of what would go, by which it is found in other files. `ids`: of facts and entities, which are made of the words
 * in lower case. `marks` and `ids`: absent in the answer of an older broker.
 */
export type ForgetPreview = {
  drawers: { drawer_id: string; wing: string; room: string; source_file: string; preview: string }[];
  total: number;
  missing: string[];
  facts: number;
  links: number;
  sources: string[];
  traces: string[];
  marks?: TextMark[];
  ids?: string[];
};

/** How much went; `erasure` numbers what is still to be taken out of files. */
export type Forgotten = {
  drawers: number;
  facts: number;
  links: number;
  journalRows: number;
  images: number;
  erasure: number;
};

export type ForgetResult = Forgotten & { drawer_ids: string[]; missing: string[] };

/** How far what was forgotten is out of the files. `notes`: where it may stay. */
export type ErasureReport = { pending: number; problems: string[]; notes: string[] };

/** Writes of the journal, the newest first. `before`: only those with a smaller `seq`; absent: all. */
export type AuditRequest = { agent?: string; tool?: string; sinceMs?: number; before?: number; limit: number };

/** One write: who, through which door, when it arrived and, where its client dates it earlier, what that says; what was asked. */
export type AuditEntry = {
  seq: number;
  at_ms: number;
  claimed_ms?: number;
  agent: string;
  door: string;
  uid: number;
  pid: number;
  method: string;
  request_id: string;
  /** Long texts are told by their length and hash, secrets of well-known shape are masked. */
  arguments: Record<string, unknown>;
};

/** `next`: goes on from there as `before`; null: there are no more. A page may be empty and others follow. */
export type AuditPage = { entries: AuditEntry[]; next: number | null };

export type UndoRequest = { agent: string; sinceMs: number; untilMs: number };
export type UndoReport = {
  writes: number;
  /** Writes of which it is no longer known what they changed. */
  too_old: number;
  /** Writes that their client dates before their arrival: they were kept meanwhile, or it says so. Absent: there are none. */
  dated_by_client?: { writes: number; earliest_ms: number };
  /** Who wrote in that time at all, the most of it first. */
  agents: string[];
  removed: number;
  restored: number;
  reverted: number;
  refused: number;
  /** `preview`: in a preview alone, of what goes away or is to come back. */
  items: {
    kind: string;
    id: string;
    change: "remove" | "restore" | "revert" | "refused";
    by?: string;
    preview?: string;
  }[];
};
