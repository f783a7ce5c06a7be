/** Types of a run of the document miner: options, report and state. */
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
  /** Reader of documents; by default, they are read as text. */
  read?: DocumentReader;
  /** Maximum file size. Larger files are left out; the default is SOURCE_SIZE_MAX_BYTES. */
  sizeMaxBytes?: number;
  dir: string;
  wing: string | undefined;
  dryRun: boolean;
  force: boolean;
  /** Maximum number of documents to file in this run; 0 for all. */
  limit: number;
  /** Maximum number of drawers of a document; a longer document is left out. 0 for no limit. */
  drawersMax: number;
  ignoreFiles: boolean;
  /** Paths in the project that are filed even if ignore rules exclude them. */
  include: readonly string[];
  /** Only path in the project to file; absent for all paths. */
  only?: string | undefined;
  /** Value of the drawers' field `added_by`. */
  agent: string;
  filing: FilingSettings;
  /** File with upstream's names and topics. */
  registryFile: string;
  cacheDir: string;
  /** Palace that gets the documents: the broker's address, or the palace's folder. */
  palace: string;
  /** Absolute paths of folders that are never scanned. */
  avoid: readonly string[];
};

export type FeedReport = RunReport & {
  wing: string;
  files: number;
  removed: number;
  /** Hallways in the wing and tunnels to other wings; absent if the run did not rebuild them. */
  links?: { hallways: number; tunnels: number };
  /** Paths that a real run would remove. Only a dry run sets it. */
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
