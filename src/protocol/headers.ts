/** Key in `params._meta` for the idempotency key. A call with the idempotency key of an earlier call gets the earlier call's result. */
export const IDEMPOTENCY_META = "palace/idempotencyKey";
/** MCP's own key in `_meta` for the client's name and version. MCP 2026-07-28 has no handshake, so each request has them. */
export const CLIENT_INFO_META = "io.modelcontextprotocol/clientInfo";
/** Key in `params._meta` for the time of a spooled write, ms since 1970. The broker stores this time instead of the time of delivery. */
export const WRITTEN_META = "palace/writtenAtMs";
/** Key in `params._meta` for the agent that spooled a write. The journal records this agent, not the client that delivers the write. */
export const AUTHOR_META = "palace/author";
/** Key in a result's `_meta` for a boolean: true if the broker returns the stored result of an earlier call. */
export const REPLAYED_META = "palace/replayed";
export const IDEMPOTENCY_HEADER = "idempotency-key";
/** HTTP header of the upgrade request: the name of the agent that uses the shim, for the journal. */
export const AGENT_HEADER = "palace-agent";
/** HTTP header of the upgrade request and of requests to `/mcp`: the client's project names, as project-header.ts writes them. */
export const PROJECT_HEADER = "palace-project";
/** Agent name that a shim sends until MCP's handshake gives the real name. */
export const UNNAMED_AGENT = "mcp";

/** HTTP header of the upgrade request and of requests to `/mcp`: the tool profile for `tools/list`. `/mcp?tools=` has the same effect. */
export const TOOLS_HEADER = "palace-tools";
export const TOOL_PROFILES = ["full", "light", "outcome", "full+outcome", "light+outcome"] as const;

export type ToolProfile = (typeof TOOL_PROFILES)[number];

/** MCP's own header with the negotiated revision. Requests to `/mcp` have it, and the upgrade request of a shim that reconnects. */
export const MCP_VERSION_HEADER = "mcp-protocol-version";

/** HTTP header of the answer to the upgrade request: the broker's instance id. */
export const INSTANCE_HEADER = "palace-instance";
/** HTTP header of a refusal (429): why an authorized peer gets no further connection, as text for people. */
export const REFUSED_HEADER = "palace-refused";
/** HTTP header of the answer to the upgrade request: the broker's protocol versions as `min-max`. Older brokers do not send it. */
export const PROTOCOL_HEADER = "palace-protocol";
