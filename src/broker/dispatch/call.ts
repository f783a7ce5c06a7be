/** What a method's handler is given: the parts of the broker it works with, and the request. */
import type { ReadContext } from "../../engine/tools/read-tools.ts";
import type { RedactMode } from "../../engine/text/redact.ts";
import type { Log } from "../../platform/log.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import type { Notify } from "../engine.ts";
import type { MineJobs } from "../mine/jobs.ts";
import type { Jobs } from "../palace/jobs.ts";
import type { Logstream } from "../palace/logstream.ts";
import type { Maintenance } from "../palace/maintenance.ts";
import type { Hygiene } from "../palace/palace.ts";
import type { WriteQueue } from "../palace/queue.ts";
import type { Peer } from "../peer.ts";
import type { Metrics } from "./metrics.ts";

/** The palace once it is open. */
export type OpenPalace = Readonly<{
  reads: ReadContext;
  queue: WriteQueue;
  jobs: Jobs;
  maintenance: Maintenance;
  hygiene: Hygiene;
  logstream: Logstream;
}>;

export type MethodsDependencies = {
  /** Resolves when the palace is open. Errors: why it is not. */
  ready: () => Promise<OpenPalace>;
  mines: MineJobs;
  status: () => StatusReport;
  stop: (options: { sticky: boolean }) => void;
  /** When names and topics join, by the settings of this machine. */
  linkRules: () => { hallwayMin: number | undefined; topicsMin: number | undefined };
  /** Folders of this machine that agents of others may learn of. */
  openedRoots: readonly string[];
  /** Secrets in what tools answer. */
  redact: RedactMode;
  metrics: Metrics;
  log: Log;
};

export type Call = {
  peer: Peer;
  params: Record<string, unknown>;
  requestId: string;
  sizeBytes: number;
  /** The client has taken the request back, or it takes too long. */
  signal: AbortSignal;
  notify: Notify | undefined;
  /** The writes this peer sent before; reads, and writes that are prepared, wait for them: a client always sees what it wrote. */
  earlierWrites: Promise<unknown> | undefined;
};

export type Handler = (dependencies: MethodsDependencies, call: Call) => unknown;

/** The palace with what this peer wrote before in it: the one place where a call waits for others. Errors: why it is not open. */
export async function palaceAfterWrites({ ready }: MethodsDependencies, { earlierWrites }: Call): Promise<OpenPalace> {
  await earlierWrites;
  return ready();
}
