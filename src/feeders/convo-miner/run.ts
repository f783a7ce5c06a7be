/** Types of a run of the conversation miner: options, report and state. */
import type { FilingSettings } from "../../config/filing.ts";
import type { ExtractMode, FilingRecord } from "../../protocol/filing.ts";
import type { FeedDeps, RunReport } from "../run.ts";
import type { Exchanges, Notes } from "./notes.ts";
import type { SlackNames } from "./slack.ts";

/** A transcript on disk and the name under which it is filed. */
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
  /** Maximum number of transcripts to file in this run; 0 = all. */
  limit: number;
  /** Value of the drawers' field `added_by`. */
  agent: string;
  extract: ExtractMode;
  filing: FilingSettings;
};

export type MineReport = RunReport & {
  wing: string;
  files: number;
  /** Number of unchanged drawers in the transcripts that were filed. */
  kept: number;
};

export type Run = Omit<FeedDeps, "caller"> & {
  options: MineOptions;
  notesDir: string;
  notes: Notes;
  /** The palace's filing records, by `sourceFile` of the transcript. */
  records: ReadonlyMap<string, FilingRecord>;
  /** Sources with the transcript of a session, in any wing, by the session's id. */
  sessions: ReadonlyMap<string, readonly string[]>;
  /** Source that contains a conversation, by the conversation's SHA-256. */
  known: Map<string, string>;
  /** Digests of filed exchanges, by `sourceFile`. */
  exchanges: Map<string, Exchanges>;
  /** Returns the names in users.json for a file of a Slack export; undefined for another file. */
  slackNames: (path: string) => SlackNames | undefined;
  report: MineReport;
};
