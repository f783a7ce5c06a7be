/** The peer at the other end of a connection, as the door identified it, for the queue, the journal and the log. */
import { isRecord } from "../base/parse-json.ts";
import type { LogFields } from "../base/log.ts";
import { agentName } from "../protocol/agent-name.ts";
import { TOOL_PROFILES, type ToolProfile, UNNAMED_AGENT } from "../protocol/headers.ts";
import { type DoorName, type Role } from "../protocol/spec.ts";
import { MCP_VERSIONS, type McpVersion } from "../protocol/version.ts";

export type Peer = {
  /** Number of the connection, unique in this broker's life. */
  id: number;
  /** Name that the client gave itself. It does not prove an identity. */
  agent: string;
  /** Name of the peer's token; `agent` begins with it. Unset on a socket without tokens. */
  token?: string;
  /** Id of the peer's token, or of the page's session. */
  tokenId?: string;
  door: DoorName;
  role: Role;
  /** User id from the kernel, or -1 if the kernel gave none. */
  uid: number;
  pid: number;
  tools: ToolProfile;
  /** Names of the client's project, the most specific first; absent if the client named none. */
  project?: readonly string[];
  /** Tells whether the peer reads its answers. Unset means `goes on`. In any other state, the peer's next read call waits in the queue. */
  reading?: () => "goes on" | "behind" | "others wait" | "gone";
  /** MCP revision that the client named in the handshake; undefined before the handshake, and if the client named none. */
  revision?: McpVersion | undefined;
};

export function peerFields(peer: Peer): LogFields {
  return { peer: peer.id, agent: peer.agent, door: peer.door, pid: peer.pid };
}

/** Names an unnamed connection after its MCP client. The token's name stays in front. */
export function nameAfter(peer: Peer, clientInfo: unknown): void {
  const isUnnamed = peer.agent === UNNAMED_AGENT || peer.agent.endsWith(`:${UNNAMED_AGENT}`);
  const name = isRecord(clientInfo) ? agentName(clientInfo["name"]) : "unknown";
  if (isUnnamed && name !== "unknown") peer.agent = peer.agent.slice(0, -UNNAMED_AGENT.length) + name;
}

/** Returns the tool profile of that name. An unknown name means `full`, so that a client of a later version still has tools. */
export function toolProfile(given: unknown): ToolProfile {
  return TOOL_PROFILES.find((profile) => profile === given) ?? "full";
}

/** Returns the revision that a header names; undefined if the revision has no handshake or is unknown here. */
export function mcpRevision(given: unknown): McpVersion | undefined {
  return MCP_VERSIONS.find((version) => version === given);
}
