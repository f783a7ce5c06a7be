/** Wire types of feeders' requests, which file documents and transcripts. */

export const EXTRACT_MODES = ["exchange", "general"] as const;
/** `exchange`: files a transcript as exchanges. `general`: files memories that it extracts from the transcript. */
export type ExtractMode = (typeof EXTRACT_MODES)[number];

/** Separates a transcript's name from its extraction mode in the key of a filing record. No path contains it. */
export const MODE_SEPARATOR = "\u001f";

/** Miners of MemPalace: for projects, for office documents, and for transcripts in each extraction mode. */
export const MINERS = ["projects", "formats", ...EXTRACT_MODES] as const;
export type Miner = (typeof MINERS)[number];

/** Metadata keys that only miners write. */
export const MINED_KEYS = ["normalize_version", "source_mtime", "ingest_mode"] as const;

/** File that MemPalace mined. `mtime`: modification time when it was mined, s since 1970; null if MemPalace 3.3.6 mined it. */
export type MinedSource = { sourceFile: string; mtime: number | null; filedAt: string };

/** Sizes for cutting a document, characters: a drawer's maximum and minimum size, and the maximum `overlap` of two neighbouring drawers. */
export type Cut = Readonly<{ size: number; overlap: number; sizeMin: number }>;

/** Halls with their keywords, in order: if several halls match equally well, the first one wins. */
export type HallKeywords = readonly (readonly [hall: string, keywords: readonly string[]])[];

export type SourceContent = {
  wing: string;
  room: string;
  sourceFile: string;
  mtime: number;
  sha256: string;
  /** Whole document, which the broker cuts into drawers. Absent if the document was sent in parts. */
  content?: string;
  /** Set instead of `content` if the document was sent with `source.part`. `sending`: see SourcePart. `length`: characters in total. */
  parts?: { sending: string; length: number };
  /** Date that the text is about, YYYY-MM-DD, if known. */
  contentDate?: string;
  /** Source of `contentDate`: `filename`, `frontmatter`, `body` or `mtime`. */
  contentDateSource?: string;
  /** Time when the text was written, as ISO 8601, if known. */
  authoredAt?: string;
  /** Inode of the document's folder, decimal. */
  sourceDirIno?: string;
  /** Names from upstream's registry that the document mentions, at most KNOWN_NAMES_MAX. The broker tags the drawers with these names. */
  knownNames?: string[];
  /** Sizes for cutting. Default: DRAWER_SIZE, DRAWER_OVERLAP and DRAWER_SIZE_MIN. */
  cut?: Cut;
  /** Halls to sort the drawers into, with at most HALL_KEYWORDS_MAX keywords. Default: MemPalace's own halls. */
  halls?: HallKeywords;
  /** Codes of the languages in which the broker looks for names in the text, at most LANGUAGES_MAX. Default: English. */
  languages?: readonly string[];
  /** Maximum number of drawers; 0 means unlimited. If the document has more, the broker keeps the drawers of its earlier version. */
  drawersMax?: number;
  /** True for text from an office document, which the broker files as upstream's miner `formats` does. */
  isExtracted?: boolean;
  addedBy: string;
};

/**
 * Part of a document: at most SOURCE_PART_MAX characters (UTF-16), beginning at `from`, where the previous part ended. A part never splits
 * a surrogate pair. The broker only stores parts; `source.replace` with the same `sending` files the document.
 */
export type SourcePart = {
  sourceFile: string;
  /** Id of this transmission of the document. The broker drops the parts of the source's earlier transmissions. */
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
  /** SHA-256 of each conversation in the transcript, separated by commas. */
  contentHash?: string;
  /** Time of the last message, as written in the transcript. */
  authoredAt?: string;
  /** Time of each text, instead of `authoredAt`; null if unknown. */
  authoredAts?: (string | null)[];
  /** Inode of the transcript's folder, decimal. */
  sourceDirIno?: string;
  /** Extraction mode, `exchange` by default. Drawers of the same transcript in another mode are kept. */
  extractMode?: ExtractMode;
  rooms?: string[];
  halls?: HallKeywords;
};

/** Filing record of one source. A feeder compares a file with its record to see whether the file has changed. */
export type FilingRecord = {
  sourceFile: string;
  /** Modification time of the file, s since 1970. */
  mtime: number;
  /** SHA-256 of the filed content, hex. */
  sha256: string;
  drawers: number;
};

/** Message of an agent's session, with the agent's own ids. */
export type SweptMessage = {
  sessionId: string;
  uuid: string;
  timestamp: string;
  role: "user" | "assistant";
  content: string;
};
