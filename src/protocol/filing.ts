/** What feeders send: a document, a part of a transcript. The methods are in spec.ts. Imported from anywhere. */

export const EXTRACT_MODES = ["exchange", "general"] as const;
/** A transcript's exchanges, or the memories in it by their type. */
export type ExtractMode = (typeof EXTRACT_MODES)[number];

/** Separates a transcript's name from its extraction mode in the key of a filing record. No path contains it. */
export const MODE_SEPARATOR = "\u001f";

/**
 * The rule that says what is filed: MemPalace's miner of projects, of office documents, or of transcripts in each mode.
 */
export const MINERS = ["projects", "formats", ...EXTRACT_MODES] as const;
export type Miner = (typeof MINERS)[number];

/** Keys of a drawer's metadata that only miners write. */
export const MINED_KEYS = ["normalize_version", "source_mtime", "ingest_mode"] as const;

/**
 * A file that MemPalace mined before this memory adopted the palace. `mtime`: s since 1970, of the file then; null:
 * 3.3.6 recorded none.
 */
export type MinedSource = { sourceFile: string; mtime: number | null; filedAt: string };

/** How a document is cut: most characters of a drawer, what two neighbours share at most, and what is too short to be one. */
export type Cut = Readonly<{ size: number; overlap: number; sizeMin: number }>;

/** The halls in order, where the first of equals wins, each with its keywords. */
export type HallKeywords = readonly (readonly [hall: string, keywords: readonly string[]])[];

export type SourceContent = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  sha256: string;
  /** The whole document; chunked by the broker as upstream's project miner does. Left out where it was sent in parts. */
  content?: string;
  /** The document as `source.part` brought it, whole: `length` characters. */
  parts?: { sending: string; length: number };
  /** YYYY-MM-DD the text speaks of, if known. */
  contentDate?: string;
  /** Source of that date: `filename`, `frontmatter`, `body` or `mtime`. */
  contentDateSource?: string;
  /** Inode of the document's folder, decimal. */
  sourceDirIno?: string;
  /** Names of upstream's registry that the document mentions, at most KNOWN_NAMES_MAX: its drawers are tagged with them. */
  knownNames?: string[];
  /** DRAWER_SIZE and what goes with it where nothing is said. */
  cut?: Cut;
  /** MemPalace's own halls by default; within HALL_KEYWORDS_MAX. */
  halls?: HallKeywords;
  /** Languages of the names it is tagged with, by MemPalace's codes, at most LANGUAGES_MAX; English by default. */
  languages?: readonly string[];
  /** More than that are not filed, and what was filed of it before stays; 0 = any number. */
  drawersMax?: number;
  /** The content was taken out of an office document: filed as upstream's format mode files it. */
  isExtracted?: boolean;
  addedBy: string;
};

/**
 * Characters (UTF-16) of a document from `from` on, at most SOURCE_PART_MAX, never half of a surrogate pair; each part
 * begins where the previous one ended. Nothing is filed of them, and the source's drawers stay, until `source.replace`
 * names their sending.
 */
export type SourcePart = {
  sourceFile: string;
  /** Made anew each time a document is begun; the newest of a source is the only one there is. */
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
  /** Inode of the transcript's folder, decimal. */
  sourceDirIno?: string;
  /** The extraction mode; `exchange` by default. Drawers of the other mode stay. */
  extractMode?: ExtractMode;
  /** The room of each drawer, in place of `room`. */
  rooms?: string[];
  /** As for a document. */
  halls?: HallKeywords;
};
