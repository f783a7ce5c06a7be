/** State, input and output of a run of the document miner. */
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
  /** Reads a document; by default as text. */
  read?: DocumentReader;
  /** Larger files are left out; the default is SOURCE_SIZE_MAX_BYTES. */
  sizeMaxBytes?: number;
  dir: string;
  wing: string | undefined;
  dryRun: boolean;
  force: boolean;
  /** Maximum number of documents to file in this run; 0 = all. */
  limit: number;
  /** Maximum number of drawers of a document; a longer document is left out. 0 = unlimited. */
  drawersMax: number;
  ignoreFiles: boolean;
  /** Paths in the project that ignore rules do not leave out. */
  include: readonly string[];
  /** The only path in the project to file; absent: all paths. */
  only?: string | undefined;
  /** Value of the drawers' field `added_by`. */
  agent: string;
  filing: FilingSettings;
  /** File with upstream's names and topics. */
  registryFile: string;
  cacheDir: string;
  /** Name of the palace that gets the documents. */
  palace: string;
  /** Absolute folders that are never scanned. */
  avoid: readonly string[];
};

export type FeedReport = RunReport & {
  wing: string;
  files: number;
  removed: number;
  /** Number of hallways in the wing and of tunnels to other wings; absent if the run did not rebuild the links. */
  links?: { hallways: number; tunnels: number };
  /** Paths that a real run would remove. Set by a dry run only. */
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
