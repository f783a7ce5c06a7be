/**
 * The types of one run of the conversation miner: its state, input and output. Used by the files beside it, by the session
 * miner and by the command line.
 */
import type { FilingSettings } from "../../config/filing.ts";
import type { ExtractMode } from "../../protocol/filing.ts";
import type { FilingRecord } from "../../protocol/spec.ts";
import type { Notes } from "./notes.ts";

export type FeedWatch = {
  notice(line: string): void;
  /** `drawers`: number of drawers from the transcript; undefined if it was not sent. */
  progress(done: number, total: number, name: string, drawers: number | undefined): void;
};

/** A transcript on disk and the name it is filed under. */
export type TranscriptFile = {
  path: string;
  sourceFile: string;
  /** Name shown to users. */
  name: string;
  mtime: number;
  size: number;
};

export type MineOptions = {
  wing: string;
  dryRun: boolean;
  force: boolean;
  /** Most transcripts filed by this run; 0 = all. */
  limit: number;
  /** Goes into the drawers' `added_by`. */
  agent: string;
  extract: ExtractMode;
  /** How transcripts are cut and sorted. */
  filing: FilingSettings;
};

export type Skip = { file: string; reason: string };

export type MineReport = {
  wing: string;
  /** Transcripts found. */
  files: number;
  filed: number;
  unchanged: number;
  skipped: Skip[];
  /** Drawers written by this run. */
  drawers: number;
  /** Drawers of filed transcripts that were there already. */
  kept: number;
  dryRun: boolean;
  interrupted: boolean;
  /** Transcripts that should have been filed and were not. */
  failed: number;
  /** Set by a dry run: what would be filed. */
  wouldFile?: string[];
};

export type Run = {
  options: MineOptions;
  /** Folder for what is remembered between runs. */
  notesDir: string;
  notes: Notes;
  /** The palace's filing records, by the names used here. */
  records: ReadonlyMap<string, FilingRecord>;
  /** A session's number → the sources of any wing that are transcripts of it. */
  sessions: ReadonlyMap<string, readonly string[]>;
  /** SHA-256 of a conversation → the source that holds it. */
  known: Map<string, string>;
  report: MineReport;
  watch: FeedWatch;
  signal: AbortSignal;
};
