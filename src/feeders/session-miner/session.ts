/**
 * A session of a coding agent, whichever agent it was. Types only; sources make them (opencode.ts, pi.ts, claude-code.ts),
 * transcribe.ts writes them down.
 */
export type Block =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool"; id: string; name: string; input: Record<string, unknown>; output?: string; isError?: boolean };

/** One message. Times are ms since the epoch. */
export type Turn = { id: string; role: "user" | "assistant"; atMs: number; blocks: Block[] };

/** The part of a session that is known without reading it. */
export type SessionHead = {
  id: string;
  updatedMs: number;
  /** Differs after every change of the session. */
  version: string;
  /** The generation of the agent whose tables hold it, for an agent that has several. */
  generation?: string;
};

export type Session = {
  id: string;
  title: string;
  /** The agent's working directory; "" if unknown. */
  directory: string;
  agent: string;
  createdMs: number;
  updatedMs: number;
  turns: Turn[];
  /** Ids of turns that are copies of an earlier session's, and that session. */
  copies?: ReadonlyMap<string, string>;
};

export type HarnessName = "opencode" | "claude-code" | "pi";

/** Errors: FEEDER_SOURCE_UNREADABLE. */
export interface SessionSource {
  /** Names the place, for notes. */
  readonly place: string;
  list(): SessionHead[];
  /** Undefined when it is gone since it was listed. */
  read(head: SessionHead): Session | undefined;
  close(): void;
}
