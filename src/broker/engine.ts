/**
 * What answers the calls behind the doors: our own palace (builtin/engine.ts), or one child MCP server (child/engine.ts). All that
 * life/ knows of either. An engine begins to open when it is made, and answers, if only why not, from then on.
 */
import type { PalaceError } from "../protocol/errors.ts";
import type { EngineReport, Health, RpcResponse, StatusReport } from "../protocol/spec.ts";
import type { Peer } from "./peer.ts";

/** Says something to a peer that it did not ask for. */
export type Notify = (method: string, params: Record<string, unknown> | undefined) => void;

/** `sizeBytes` is the message's length on the wire, `notify` where the door can. Undefined = no answer is due. */
export type Dispatch = (
  peer: Peer,
  message: unknown,
  sizeBytes: number,
  notify?: Notify,
) => Promise<RpcResponse | undefined>;

/** What is known of a palace, by who has it open. */
export type PalaceStatus = Pick<
  StatusReport,
  "drawers" | "wings" | "ledgerSizeBytes" | "queue" | "search" | "driver" | "closets" | "graph" | "strays" | "adoption"
>;

/** What a server says of itself in MCP's handshake. */
export type Identity = { serverInfo: { name: string; version: string }; instructions?: string };

export type Engine = {
  dispatch: Dispatch;
  /** Resolves when it is open, or has failed. Never rejects. */
  opened: Promise<void>;
  /** A connection has closed. */
  leave(peerId: number): void;
  health(): Pick<Health, "status" | "error">;
  report(): EngineReport;
  status(): PalaceStatus & Pick<StatusReport, "upstreamLock">;
  /** What clients of `POST /mcp` are told where it is not our own word; undefined until that is known. */
  identity?: () => Identity | undefined;
  /** Why it cannot be worked with. */
  failure(): PalaceError | undefined;
  /** Long work is under way, whether or not anybody is connected. */
  isBusy(): boolean;
  /** Takes no more calls and answers what is under way. */
  drain(): Promise<void>;
  close(): Promise<void>;
  /** Ends without touching the palace's files: they are gone, or another's by now. */
  abandon(): Promise<void>;
};

/** What an engine needs of the broker around it. */
export type EngineHost = {
  status: () => StatusReport;
  stop: (options: { sticky: boolean }) => void;
};
