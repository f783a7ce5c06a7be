/** Who is at the other end of a connection, as the door established it. The queue, the journal and the log see it. */
import type { LogFields } from "../platform/log.ts";
import { type DoorName, type Role, TOOL_PROFILES, type ToolProfile } from "../protocol/spec.ts";

export type Peer = {
  /** Number of the connection, unique in this broker's life. */
  id: number;
  /** Name the client gave itself; not proof of anything. */
  agent: string;
  door: DoorName;
  role: Role;
  /** From the kernel; -1 where it does not tell. */
  uid: number;
  pid: number;
  /** Tools it wants to be told of. */
  tools: ToolProfile;
};

export function peerFields(peer: Peer): LogFields {
  return { peer: peer.id, agent: peer.agent, door: peer.door, pid: peer.pid };
}

const AGENT_MAX = 64;

/** A name fit for logs: printable, short. */
export function agentName(given: unknown): string {
  const name =
    typeof given === "string"
      ? given
          .replaceAll(/[^\x20-\x7e]/g, "")
          .trim()
          .slice(0, AGENT_MAX)
      : "";
  return name === "" ? "unknown" : name;
}

/** A profile nobody knows is the full one: a client of a later version still has tools. */
export function toolProfile(given: unknown): ToolProfile {
  return TOOL_PROFILES.find((profile) => profile === given) ?? "full";
}
