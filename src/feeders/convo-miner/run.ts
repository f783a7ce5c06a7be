/**
 * The types of one run of the conversation miner: its state, input and output. Used by the files beside it, by the session
 * miner and by the command line.
 */
import type { FilingSettings } from "../../config/filing.ts";
import type { ExtractMode } from "../../protocol/filing.ts";
import type { FilingRecord } from "../../protocol/filing.ts";
import type { FeedDeps, RunReport } from "../run.ts";
import type { Exchanges, Notes } from "./notes.ts";
import type { SlackNames } from "./slack.ts";

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

export type MineReport = RunReport & {
  wing: string;
  /** Transcripts found. */
  files: number;
  /** Drawers of filed transcripts that the palace had already. */
  kept: number;
};

export type Run = Omit<FeedDeps, "caller"> & {
  options: MineOptions;
  /** Folder for notes between runs. */
  notesDir: string;
  notes: Notes;
  /** The palace's filing records, by the names used here. */
  records: ReadonlyMap<string, FilingRecord>;
  /** A session's number → the sources of any wing that are transcripts of it. */
  sessions: ReadonlyMap<string, readonly string[]>;
  /** SHA-256 of a conversation → the source that holds it. */
  known: Map<string, string>;
  /** Exchanges that each source holds. */
  exchanges: Map<string, Exchanges>;
  /** Returns the people of a file's Slack export; undefined for any other file. */
  slackNames: (path: string) => SlackNames | undefined;
  report: MineReport;
};
