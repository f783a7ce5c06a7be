/**
 * A session of a coding agent, whatever agent it was. Types only; sources make them (opencode.ts, pi.ts, claude-code.ts),
 * transcribe.ts writes them down.
 */
export type Block =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool"; id: string; name: string; input: Record<string, unknown>; output?: string; isError?: boolean };

/** One message. Times are ms since the epoch. */
export type Turn = { id: string; role: "user" | "assistant"; atMs: number; blocks: Block[] };

/** What is known of a session without reading it. */
export type SessionHead = {
  id: string;
  updatedMs: number;
  /** Another one after every change of the session. */
  version: string;
};

export type Session = {
  id: string;
  title: string;
  /** Where the agent worked; "" if that is not known. */
  directory: string;
  agent: string;
  createdMs: number;
  updatedMs: number;
  turns: Turn[];
};

export type HarnessName = "opencode" | "claude-code" | "pi";

/** Errors: FEEDER_SOURCE_UNREADABLE. */
export interface SessionSource {
  /** Names the place, for notes. */
  readonly place: string;
  list(): SessionHead[];
  /** Undefined: gone since it was listed. */
  read(head: SessionHead): Session | undefined;
  close(): void;
}
