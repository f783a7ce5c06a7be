/** Arguments of the functions that answer methods: the parts of the broker, and the request. */
import type { RedactMode } from "../../memory/text/redact.ts";
import type { Log } from "../../base/log.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import type { Notify, OwnFiles, PageLink } from "../engine.ts";
import type { MineJobs } from "../mine/jobs.ts";
import type { Palace } from "../palace/palace.ts";
import type { Peer } from "../peer.ts";
import type { Metrics } from "./metrics.ts";
import type { ReadTurns } from "./read-turns.ts";

export type OpenPalace = Readonly<Pick<Palace, "reads" | "queue" | "jobs" | "maintenance" | "hygiene" | "logstream">>;

export type MethodsDependencies = {
  /** Resolves when the palace is open. Errors: why the palace is not open. */
  ready: () => Promise<OpenPalace>;
  /** Translates SQLite's errors of a read; other errors pass unchanged. */
  typedError: (error: unknown) => unknown;
  mines: MineJobs;
  status: () => StatusReport;
  stop: () => void;
  pageLink: PageLink;
  ownFiles: OwnFiles;
  /** Thresholds for linking names and topics, from this machine's settings. */
  linkRules: () => { hallwayMin: number | undefined; topicsMin: number | undefined };
  /** Folders of this machine that agents of other machines may see. */
  openedRoots: readonly string[];
  /** How secrets in tools' answers are masked. */
  redact: RedactMode;
  metrics: Metrics;
  log: Log;
};

export type Call = {
  peer: Peer;
  params: Record<string, unknown>;
  /** True for a request of MCP 2026-07-28. */
  isModern: boolean;
  requestId: string;
  sizeBytes: number;
  /** Aborted when the client cancels the request or the request takes too long. */
  signal: AbortSignal;
  notify: Notify | undefined;
  /** This peer's earlier writes. Reads and prepared writes wait for them, so that a client always sees its own writes. */
  earlierWrites: Promise<unknown> | undefined;
  /** Queues that decide whose read begins next (read-turns.ts). `palace`: reads of the palace. `log`: reads of the coordination log. */
  turns: { palace: ReadTurns; log: ReadTurns };
};

export type Handler = (dependencies: MethodsDependencies, call: Call) => unknown;

/** Returns the palace after this peer's earlier writes. Errors: why the palace is not open. */
export async function palaceAfterWrites({ ready }: MethodsDependencies, { earlierWrites }: Call): Promise<OpenPalace> {
  await earlierWrites;
  return ready();
}

/** Reads the palace in this peer's turn and after this peer's earlier writes. */
export async function inTurn<T>(
  dependencies: MethodsDependencies,
  call: Call,
  turns: ReadTurns,
  answer: (palace: OpenPalace) => T | Promise<T>,
): Promise<T> {
  const palace = await palaceAfterWrites(dependencies, call);
  const done = await turns.begin(call.peer);
  try {
    return await answer(palace);
  } finally {
    done();
  }
}
