/**
 * The interface of what answers the calls behind the doors: the builtin palace (builtin/engine.ts), or one child MCP
 * server (child/engine.ts). life/ knows nothing else of either. An engine begins to open when it is made; from then on
 * it answers, if only with the reason why it is not open.
 */
import type { PalaceError } from "../base/errors.ts";
import type { Capabilities, Implementation } from "../protocol/modern.ts";
import type { EngineReport, Health, Role, RpcResponse, StatusReport, UiLink } from "../protocol/spec.ts";
import type { Peer } from "./peer.ts";

/** Sends a peer a message that it did not request. */
export type Notify = (method: string, params: Record<string, unknown> | undefined) => void;

/**
 * `sizeBytes` is the message's length on the wire; `notify` is set where the door can notify. Undefined = no answer is
 * due.
 */
export type Dispatch = (
  peer: Peer,
  message: unknown,
  sizeBytes: number,
  notify?: Notify,
) => Promise<RpcResponse | undefined>;

/** A palace's status, reported by the engine that has it open. */
export type PalaceStatus = Pick<
  StatusReport,
  "drawers" | "wings" | "ledgerSizeBytes" | "queue" | "search" | "driver" | "closets" | "graph" | "strays" | "adoption"
>;

/** The server's description of itself in MCP's handshake; `capabilities`: to clients of 2026-07-28. */
export type Identity = { serverInfo: Implementation; instructions?: string; capabilities: Capabilities };

export type Engine = {
  dispatch: Dispatch;
  /** Resolves when the palace is open or has failed to open. Never rejects. */
  opened: Promise<void>;
  /** A connection has closed. */
  leave(peerId: number): void;
  health(): Pick<Health, "status" | "error">;
  report(): EngineReport;
  status(): PalaceStatus & Pick<StatusReport, "upstreamLock">;
  /** The identity that `POST /mcp` tells clients where it is not our own; undefined until it is known. */
  identity?: () => Identity | undefined;
  /** The reason why the engine cannot be used. */
  failure(): PalaceError | undefined;
  /** True while long work runs, whether or not anybody is connected. */
  isBusy(): boolean;
  /** Accepts no more calls and answers the running ones. */
  drain(): Promise<void>;
  close(): Promise<void>;
  /** Ends without touching the palace's files: they are deleted, or belong to another broker by now. */
  abandon(): Promise<void>;
};

/** Makes a link to the page for a peer, with its role or a lesser one. */
export type PageLink = (peer: Peer, role: Role | undefined) => Promise<UiLink>;

/** The parts of the broker that an engine needs. */
export type EngineHost = {
  status: () => StatusReport;
  stop: () => void;
  pageLink: PageLink;
};
