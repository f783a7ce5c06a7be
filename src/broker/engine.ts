/** Interface of the engine that answers calls: the builtin palace (builtin/engine.ts) or a child MCP server (child/engine.ts). */
import { PalaceError } from "../base/errors.ts";
import type { Capabilities, Implementation } from "../protocol/modern.ts";
import type {
  EngineReport,
  Health,
  Role,
  RpcResponse,
  SpoolReport,
  StatusReport,
  TokenReport,
  UiLink,
} from "../protocol/spec.ts";
import type { Peer } from "./peer.ts";

/** Returns the error of a call that comes too late for this broker. The client may repeat it with the next broker. */
export function shuttingDown(): PalaceError {
  return new PalaceError("BROKER_SHUTTING_DOWN", "the broker is shutting down", "repeat the call", {
    retryAfterMs: 200,
  });
}

/** Sends a peer a message that it did not request. */
export type Notify = (method: string, params: Record<string, unknown> | undefined) => void;

/** Handles a message. Returns undefined for a message without an answer, such as a notification. `sizeBytes`: length on the wire. */
export type Dispatch = (
  peer: Peer,
  message: unknown,
  sizeBytes: number,
  notify?: Notify,
) => Promise<RpcResponse | undefined>;

export type PalaceStatus = Pick<
  StatusReport,
  "drawers" | "wings" | "ledgerSizeBytes" | "queue" | "search" | "driver" | "closets" | "graph" | "strays" | "adoption"
>;

/** Returns the status, without the queue, of a palace that this broker does not have open. `detail`: the reason. */
export function emptyPalace(
  detail: string,
  modelState: PalaceStatus["search"]["modelState"],
  straysState: PalaceStatus["strays"]["state"],
): Omit<PalaceStatus, "queue"> {
  return {
    ...{ drawers: 0, wings: 0, ledgerSizeBytes: 0 },
    search: {
      ...{ mode: "lexical", vectors: "local", model: null, modelState, modelDetail: detail },
      ...{ embedded: 0, pending: 0 },
    },
    driver: { kind: "none", state: "off", lag: 0, lagMs: 0, detail },
    graph: { facts: 0, state: "off", lag: 0, takenOver: 0, detail },
    strays: {
      ...{ state: straysState, detail, rows: 0, collections: [], newestAtMs: null },
      ...{ changed: 0, resent: 0, unindexed: 0, taken: 0 },
    },
    closets: { count: 0, pending: 0, lag: 0 },
    adoption: { state: "none", rows: 0, read: 0, taken: 0, atMs: null, detail: "", hint: "" },
  };
}

/** The server's description of itself in MCP's handshake. `capabilities`: for clients of MCP revision 2026-07-28. */
export type Identity = { serverInfo: Implementation; instructions?: string; capabilities: Capabilities };

export type Engine = {
  dispatch: Dispatch;
  /** Resolves when the palace is open or has failed to open. Never rejects. */
  opened: Promise<void>;
  /** Forgets a peer whose connection has closed. */
  leave(peerId: number): void;
  health(): Pick<Health, "status" | "error">;
  report(): EngineReport;
  status(): PalaceStatus & Pick<StatusReport, "upstreamLock">;
  /** Returns the child server's identity, which `POST /mcp` sends in place of ours; undefined until the child has given it. */
  identity?: () => Identity | undefined;
  failure(): PalaceError | undefined;
  /** Returns true while long work runs, such as a job. The broker then does not exit as idle. */
  isBusy(): boolean;
  /** Accepts no more calls and answers the running ones. */
  drain(): Promise<void>;
  close(): Promise<void>;
  /** Ends without touching the palace's files, because they may be deleted or may belong to another broker. */
  abandon(): Promise<void>;
};

export type PageLink = (peer: Peer, role: Role | undefined) => Promise<UiLink>;

/** Files of this machine that only the owner sees and changes. Errors: BROKER_DENIED for peers of other machines. */
export type OwnFiles = {
  tokens(peer: Peer): { tokens: TokenReport[] };
  revoke(peer: Peer, name: string): { revoked: string };
  spool(peer: Peer): SpoolReport;
  sendAgain(peer: Peer, name: string): Promise<{ delivered: number; refused: number; waiting: number }>;
};

export type EngineHost = {
  status: () => StatusReport;
  stop: () => void;
  pageLink: PageLink;
  ownFiles: OwnFiles;
};
