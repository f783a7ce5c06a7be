/** The types of one run of the docs feeder: its state, input and output. Used by the files beside it and by the command line. */
import type { FilingSettings } from "../../config/filing.ts";
import type { FilingRecord } from "../../protocol/filing.ts";
import type { FeedDeps, RunReport } from "../run.ts";
import type { Front } from "./kinds-of-run.ts";
import type { Plan } from "./plan.ts";
import type { Project } from "./project.ts";
import type { Registry } from "./registry.ts";
import type { DocumentReader } from "./survey.ts";
import type { Manifest, Stage } from "./staging-area.ts";

export type FeedOptions = {
  front: Front;
  /** Converts documents to text; by default they are text already. */
  read?: DocumentReader;
  /** Larger files are left out; the default is SOURCE_SIZE_MAX_BYTES. */
  sizeMaxBytes?: number;
  dir: string;
  wing: string | undefined;
  dryRun: boolean;
  force: boolean;
  /** Most documents filed by this run; 0 = all. */
  limit: number;
  /** A document that would become more drawers is left out; 0: unlimited. */
  drawersMax: number;
  /** True: .gitignore files apply. */
  ignoreFiles: boolean;
  /** Paths in the project that are taken although they are ignored. */
  include: readonly string[];
  /** The one path in the project that this run is about; absent: all. */
  only?: string | undefined;
  /** Goes into the drawers' `added_by`. */
  agent: string;
  /** How documents are cut, sorted and joined. */
  filing: FilingSettings;
  /** The file of upstream's names and topics. */
  registryFile: string;
  cacheDir: string;
  /** Names the palace that is fed. */
  palace: string;
  /** Absolute folders that are never scanned. */
  avoid: readonly string[];
};

export type FeedReport = RunReport & {
  wing: string;
  /** Documents found. */
  files: number;
  removed: number;
  /** Hallways in the wing, and tunnels to others by its names and topics; absent if the run filed no document. */
  links?: { hallways: number; tunnels: number };
  /** Set by a dry run: what would be removed. */
  wouldRemove?: string[];
};

export type Run = Omit<FeedDeps, "caller"> & {
  root: string;
  project: Project;
  registry: Registry;
  stage: Stage;
  noted: Manifest | undefined;
  records: Map<string, FilingRecord>;
  plan: Plan;
  report: FeedReport;
  manifest: Manifest;
  options: FeedOptions;
};
