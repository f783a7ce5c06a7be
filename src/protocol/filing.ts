/** Requests of feeders: a document, or a part of a transcript. The methods are in spec.ts. */

export const EXTRACT_MODES = ["exchange", "general"] as const;
/** How a transcript is filed: its exchanges, or the memories in it by their type. */
export type ExtractMode = (typeof EXTRACT_MODES)[number];

/** Separates a transcript's name from its extraction mode in the key of a filing record. No path contains it. */
export const MODE_SEPARATOR = "\u001f";

/** Miner that decides how a source is filed: MemPalace's miner of projects, of office documents, or of transcripts in each mode. */
export const MINERS = ["projects", "formats", ...EXTRACT_MODES] as const;
export type Miner = (typeof MINERS)[number];

/** Metadata keys that only miners write. */
export const MINED_KEYS = ["normalize_version", "source_mtime", "ingest_mode"] as const;

/**
 * File that MemPalace had mined before this broker adopted the palace. `mtime`: the file's time then, s since 1970; null if MemPalace 3.3.6
 * mined it, which recorded no times.
 */
export type MinedSource = { sourceFile: string; mtime: number | null; filedAt: string };

/** Sizes for cutting a document, characters: largest drawer, largest overlap of two neighbours, smallest drawer. */
export type Cut = Readonly<{ size: number; overlap: number; sizeMin: number }>;

/** Halls with their keywords, in order: of equal matches the first hall wins. */
export type HallKeywords = readonly (readonly [hall: string, keywords: readonly string[]])[];

export type SourceContent = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  sha256: string;
  /** Whole document; the broker cuts it as upstream's project miner does. Absent if the document was sent in parts. */
  content?: string;
  /** Id of the sending and size in characters of a document that was sent with `source.part`. */
  parts?: { sending: string; length: number };
  /** Date that the text is about, YYYY-MM-DD, if known. */
  contentDate?: string;
  /** Source of that date: `filename`, `frontmatter`, `body` or `mtime`. */
  contentDateSource?: string;
  /** When it was said, as ISO 8601, if known. */
  authoredAt?: string;
  /** Inode of the document's folder, decimal. */
  sourceDirIno?: string;
  /** Names from upstream's registry that the document mentions, at most KNOWN_NAMES_MAX; its drawers are tagged with them. */
  knownNames?: string[];
  /** Default: DRAWER_SIZE, DRAWER_OVERLAP and DRAWER_SIZE_MIN. */
  cut?: Cut;
  /** Default: MemPalace's own halls. At most HALL_KEYWORDS_MAX keywords. */
  halls?: HallKeywords;
  /** Languages of those names, by MemPalace's codes, at most LANGUAGES_MAX. Default: English. */
  languages?: readonly string[];
  /**
   * Most drawers of the document, 0 for any number. The broker does not file a larger document and keeps the drawers of its earlier
   * version.
   */
  drawersMax?: number;
  /** True for text that was extracted from an office document; the broker files it as upstream's format mode does. */
  isExtracted?: boolean;
  addedBy: string;
};

/**
 * Characters (UTF-16) of a document from `from` on, at most SOURCE_PART_MAX, never half of a surrogate pair. Each part begins where the
 * previous one ended. The broker only keeps the parts; `source.replace` with their `sending` files the document and replaces its drawers.
 */
export type SourcePart = {
  sourceFile: string;
  /** Id of one sending of the document. The broker keeps only the newest sending of a source. */
  sending: string;
  from: number;
  content: string;
};

/** Drawers `from` to `from + texts.length` of a transcript that has `total` drawers. */
export type ConversationPart = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  /** The broker writes it into the filing record after all drawers are filed. */
  sha256: string;
  /** Texts of the drawers, at most CONVERSATION_PART_DRAWERS_MAX of at most DRAWER_SIZE_MAX characters each. */
  texts: string[];
  from: number;
  total: number;
  addedBy: string;
  /** SHA-256 of each conversation of the transcript, separated by commas. */
  contentHash?: string;
  /** Time of the last message, as written in the transcript. */
  authoredAt?: string;
  /** Time of each text, in place of `authoredAt`; null if unknown. */
  authoredAts?: (string | null)[];
  /** Inode of the transcript's folder, decimal. */
  sourceDirIno?: string;
  /** Extraction mode, `exchange` by default. Drawers of the other mode stay. */
  extractMode?: ExtractMode;
  /** Room of each drawer, in place of `room`. */
  rooms?: string[];
  /** Default and limit as for a document. */
  halls?: HallKeywords;
};

/** Filing record of one source, from which a feeder sees whether the source has changed. */
export type FilingRecord = {
  sourceFile: string;
  /** Time of the file, seconds since 1970. */
  mtime: number;
  /** SHA-256 of the filed content, hex. */
  sha256: string;
  drawers: number;
};

/** One message of an agent's session, with the agent's own ids. */
export type SweptMessage = {
  sessionId: string;
  uuid: string;
  timestamp: string;
  role: "user" | "assistant";
  content: string;
};
