/** Requests of feeders: a document, or a part of a transcript. The methods are in spec.ts. Imported from anywhere. */

export const EXTRACT_MODES = ["exchange", "general"] as const;
/** A transcript's exchanges, or the memories in it by their type. */
export type ExtractMode = (typeof EXTRACT_MODES)[number];

/** Separates a transcript's name from its extraction mode in the key of a filing record. No path contains it. */
export const MODE_SEPARATOR = "\u001f";

/** Miner that decides how a source is filed: MemPalace's miner of projects, of office documents, or of transcripts in each mode. */
export const MINERS = ["projects", "formats", ...EXTRACT_MODES] as const;
export type Miner = (typeof MINERS)[number];

/** Keys of a drawer's metadata that only miners write. */
export const MINED_KEYS = ["normalize_version", "source_mtime", "ingest_mode"] as const;

/**
 * A file that MemPalace mined before this memory adopted the palace. `mtime`: s since 1970, of the file then; null:
 * 3.3.6 recorded none.
 */
export type MinedSource = { sourceFile: string; mtime: number | null; filedAt: string };

/** Sizes for cutting a document, characters: the largest drawer, the largest overlap of two neighbours, and the smallest drawer. */
export type Cut = Readonly<{ size: number; overlap: number; sizeMin: number }>;

/** Halls with their keywords, in order: of equal matches the first hall wins. */
export type HallKeywords = readonly (readonly [hall: string, keywords: readonly string[]])[];

export type SourceContent = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  sha256: string;
  /** The whole document, chunked by the broker as upstream's project miner does. Absent if the document was sent in parts. */
  content?: string;
  /** The whole document as sent with `source.part`: `length` characters. */
  parts?: { sending: string; length: number };
  /** YYYY-MM-DD the text speaks of, if known. */
  contentDate?: string;
  /** Source of that date: `filename`, `frontmatter`, `body` or `mtime`. */
  contentDateSource?: string;
  /** When it was said, as ISO 8601, if known. */
  authoredAt?: string;
  /** Inode of the document's folder, decimal. */
  sourceDirIno?: string;
  /** Names of upstream's registry that the document mentions, at most KNOWN_NAMES_MAX: its drawers are tagged with them. */
  knownNames?: string[];
  /** DRAWER_SIZE, DRAWER_OVERLAP and DRAWER_SIZE_MIN by default. */
  cut?: Cut;
  /** MemPalace's own halls by default; within HALL_KEYWORDS_MAX. */
  halls?: HallKeywords;
  /** Languages of the names it is tagged with, by MemPalace's codes, at most LANGUAGES_MAX; English by default. */
  languages?: readonly string[];
  /** Most drawers of the document. A larger document is not filed, and drawers filed before stay. 0 = any number. */
  drawersMax?: number;
  /** The content was extracted from an office document; it is filed as upstream's format mode files it. */
  isExtracted?: boolean;
  addedBy: string;
};

/**
 * Characters (UTF-16) of a document from `from` on, at most SOURCE_PART_MAX, never half of a surrogate pair. Each part begins where the
 * previous one ended. The broker files no part, and the source's drawers stay, until `source.replace` names their sending.
 */
export type SourcePart = {
  sourceFile: string;
  /** Id made for each new sending of the document. The broker keeps only the newest sending of a source. */
  sending: string;
  from: number;
  content: string;
};

/** Drawers `from` to `from + texts.length` of a transcript that becomes `total` of them. */
export type ConversationPart = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  /** Written into the filing record once all its drawers are filed. */
  sha256: string;
  /**
   * The texts of the drawers, at most CONVERSATION_PART_DRAWERS_MAX of them, each of at most DRAWER_SIZE_MAX
   * characters.
   */
  texts: string[];
  from: number;
  total: number;
  addedBy: string;
  /** SHA-256 of each conversation of the transcript, with commas. */
  contentHash?: string;
  /** The time of the last message, as the transcript has it. */
  authoredAt?: string;
  /** When each of the texts was said, in place of `authoredAt`; null where that is unknown. */
  authoredAts?: (string | null)[];
  /** Inode of the transcript's folder, decimal. */
  sourceDirIno?: string;
  /** The extraction mode; `exchange` by default. Drawers of the other mode stay. */
  extractMode?: ExtractMode;
  /** The room of each drawer, in place of `room`. */
  rooms?: string[];
  /** Same default and bound as for a document. */
  halls?: HallKeywords;
};
