/** The peer at the other end of a connection, as the door identified it. The queue, the journal and the log see it. */
import { isRecord } from "../base/is-record.ts";
import type { LogFields } from "../base/log.ts";
import { agentName } from "../protocol/agent-name.ts";
import { type DoorName, type Role, TOOL_PROFILES, type ToolProfile, UNNAMED_AGENT } from "../protocol/spec.ts";
import { MCP_VERSIONS, type McpVersion } from "../protocol/version.ts";

export type Peer = {
  /** Number of the connection, unique in this broker's life. */
  id: number;
  /** Name the client gave itself; not proof of anything. */
  agent: string;
  door: DoorName;
  role: Role;
  /** The kernel's answer; -1 where it gives none. */
  uid: number;
  pid: number;
  /** The set of tools it asked for. */
  tools: ToolProfile;
  /** Names of the project that it works in, the most telling one first; none if it has not said. */
  project?: readonly string[];
  /** Tells whether its answers are read: a read waits that would add to many unread ones. Unset: they are. */
  reading?: () => "goes on" | "behind" | "others wait" | "gone";
  /** The MCP revision that its handshake settled on; undefined until then, and for a client that needs none. */
  revision?: McpVersion | undefined;
};

export function peerFields(peer: Peer): LogFields {
  return { peer: peer.id, agent: peer.agent, door: peer.door, pid: peer.pid };
}

/** A connection without a name of its own gets its client's name; a token's name stays before it. */
export function nameAfter(peer: Peer, clientInfo: unknown): void {
  const isUnnamed = peer.agent === UNNAMED_AGENT || peer.agent.endsWith(`:${UNNAMED_AGENT}`);
  const name = isRecord(clientInfo) ? agentName(clientInfo["name"]) : "unknown";
  if (isUnnamed && name !== "unknown") peer.agent = peer.agent.slice(0, -UNNAMED_AGENT.length) + name;
}

/** An unknown profile means the full one: a client of a later version still has tools. */
export function toolProfile(given: unknown): ToolProfile {
  return TOOL_PROFILES.find((profile) => profile === given) ?? "full";
}

/** The revision that a header names; undefined for one that has no handshake, or is unknown here. */
export function mcpRevision(given: unknown): McpVersion | undefined {
  return MCP_VERSIONS.find((version) => version === given);
}
