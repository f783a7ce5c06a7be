/** What forgetting and taking back ask for and answer, on the stream and in the command line. Shapes alone. */

/** What is to be forgotten: one of the three. `match`: whatever holds the text, to the character. */
export type ForgetSelector = { ids: string[] } | { source: string } | { match: string };

/** `traces`: pieces of what would go, by which it is found in other files. */
export type ForgetPreview = {
  drawers: { drawer_id: string; wing: string; room: string; source_file: string; preview: string }[];
  total: number;
  missing: string[];
  facts: number;
  links: number;
  sources: string[];
  traces: string[];
};

export type ForgetResult = {
  drawers: number;
  facts: number;
  links: number;
  journalRows: number;
  images: number;
  erasure: number;
  drawer_ids: string[];
  missing: string[];
};

/** How far what was forgotten is out of the files. `notes`: where it may stay. */
export type ErasureReport = { pending: number; problems: string[]; notes: string[] };

export type UndoRequest = { agent: string; sinceMs: number; untilMs: number };
export type UndoReport = {
  writes: number;
  /** Writes of which it is no longer known what they changed. */
  too_old: number;
  /** Who wrote in that time at all, the most of it first. */
  agents: string[];
  removed: number;
  restored: number;
  reverted: number;
  refused: number;
  items: { kind: string; id: string; change: "remove" | "restore" | "revert" | "refused"; by?: string }[];
};
