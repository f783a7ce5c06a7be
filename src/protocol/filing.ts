/** Requests of feeders: a document, or a part of a transcript. The methods are in spec.ts. */

export const EXTRACT_MODES = ["exchange", "general"] as const;
/** Form in which a transcript is filed: as exchanges, or as the memories found in it, each with a type. */
export type ExtractMode = (typeof EXTRACT_MODES)[number];

/** Separates a transcript's name from its extraction mode in the key of a filing record. No path contains it. */
export const MODE_SEPARATOR = "\u001f";

/** Miners of MemPalace: for projects, for office documents, and for transcripts in each extraction mode. */
export const MINERS = ["projects", "formats", ...EXTRACT_MODES] as const;
export type Miner = (typeof MINERS)[number];

/** Metadata keys that only miners write. */
export const MINED_KEYS = ["normalize_version", "source_mtime", "ingest_mode"] as const;

/**
 * File that MemPalace had mined before this broker adopted the palace. `mtime`: the file's time then, s since 1970; null for MemPalace
 * 3.3.6, which did not record it.
 */
export type MinedSource = { sourceFile: string; mtime: number | null; filedAt: string };

/** Sizes for cutting a document, characters: maximum drawer, maximum overlap of two neighbours, minimum drawer. */
export type Cut = Readonly<{ size: number; overlap: number; sizeMin: number }>;

/** Halls with their keywords, in order: if several halls match equally well, the first one wins. */
export type HallKeywords = readonly (readonly [hall: string, keywords: readonly string[]])[];

export type SourceContent = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  sha256: string;
  /** Whole document; the broker cuts it as upstream's project miner does. Absent if the document was sent in parts. */
  content?: string;
  /** Replaces `content` if the document was sent with `source.part`: `sending` is the transmission's id, `length` counts characters. */
  parts?: { sending: string; length: number };
  /** Date of the text's subject, YYYY-MM-DD, if known. */
  contentDate?: string;
  /** Place where `contentDate` was found: `filename`, `frontmatter`, `body` or `mtime`. */
  contentDateSource?: string;
  /** Time when the text was written, as ISO 8601, if known. */
  authoredAt?: string;
  /** Inode of the document's folder, decimal. */
  sourceDirIno?: string;
  /** Names from upstream's registry that the document mentions, at most KNOWN_NAMES_MAX; its drawers are tagged with them. */
  knownNames?: string[];
  /** Sizes for cutting. Default: DRAWER_SIZE, DRAWER_OVERLAP and DRAWER_SIZE_MIN. */
  cut?: Cut;
  /** Halls of the drawers. Default: MemPalace's own halls. At most HALL_KEYWORDS_MAX keywords. */
  halls?: HallKeywords;
  /** Languages in which to look for names, by MemPalace's codes, at most LANGUAGES_MAX. Default: English. */
  languages?: readonly string[];
  /**
   * Maximum number of drawers of the document; 0 means unlimited. The broker does not file a larger document, and keeps the drawers of its
   * earlier version.
   */
  drawersMax?: number;
  /** True for text that was extracted from an office document; the broker files it as upstream's format mode does. */
  isExtracted?: boolean;
  addedBy: string;
};

/**
 * Characters (UTF-16) of a document from `from` on, at most SOURCE_PART_MAX, never half of a surrogate pair. Each part begins where the
 * previous one ended. The broker only stores the parts; `source.replace` with their `sending` files the document and replaces its drawers.
 */
export type SourcePart = {
  sourceFile: string;
  /** Id of one transmission of the document. The broker keeps only the newest transmission of a source. */
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
  /** Hash of the transcript. The broker writes it into the filing record after all drawers are filed. */
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
  /** Time of each text, instead of `authoredAt`; null if unknown. */
  authoredAts?: (string | null)[];
  /** Inode of the transcript's folder, decimal. */
  sourceDirIno?: string;
  /** Extraction mode, `exchange` by default. The drawers of the other mode are kept. */
  extractMode?: ExtractMode;
  rooms?: string[];
  /** Halls of the drawers, with the same default and limit as for a document. */
  halls?: HallKeywords;
};

/** Filing record of one source. A feeder uses it to see whether the source has changed. */
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
