/** Names of HTTP headers and of keys in `_meta`, for values for which MCP has no field. */
/** Key of `params._meta` with an idempotency key. A repeated key returns the first call's result. */
export const IDEMPOTENCY_META = "palace/idempotencyKey";
/** MCP's key in each request for the name and version of an MCP 2026-07-28 client, which has no handshake. */
export const CLIENT_INFO_META = "io.modelcontextprotocol/clientInfo";
/** Key for the time of a spooled write, ms since 1970. The write gets this time, not the time of its delivery. */
export const WRITTEN_META = "palace/writtenAtMs";
/** Key for the name of the agent that spooled a write. The journal has this name, not the name of the client that delivers the write. */
export const AUTHOR_META = "palace/author";
/** Key in a result's `_meta`; true if the broker returns an earlier result. */
export const REPLAYED_META = "palace/replayed";
export const IDEMPOTENCY_HEADER = "idempotency-key";
/** HTTP header of the upgrade with the name of the agent behind a shim, for the journal. */
export const AGENT_HEADER = "palace-agent";
/** HTTP header with the client's project names (project-header.ts), of the upgrade or of a request to `/mcp`. */
export const PROJECT_HEADER = "palace-project";
/** Name of a shim until MCP's handshake gives its agent's name. */
export const UNNAMED_AGENT = "mcp";

/** HTTP header, in the upgrade or in a request to `/mcp`, that selects the tools of `tools/list`; `/mcp?tools=` works, too. */
export const TOOLS_HEADER = "palace-tools";
export const TOOL_PROFILES = ["full", "light", "outcome", "full+outcome", "light+outcome"] as const;

/** Name of a set of tools. */
export type ToolProfile = (typeof TOOL_PROFILES)[number];

/** MCP's own header with the negotiated revision, of a request to `/mcp` and of the upgrade when a link reconnects. */
export const MCP_VERSION_HEADER = "mcp-protocol-version";

/** HTTP header of the answer to the upgrade, with the broker's instance id. */
export const INSTANCE_HEADER = "palace-instance";
/** HTTP header with the reason, for people, why an admitted peer gets no further connection. */
export const REFUSED_HEADER = "palace-refused";
/** HTTP header of the answer to the upgrade: protocol versions of the broker as `min-max`. Older brokers do not send it. */
export const PROTOCOL_HEADER = "palace-protocol";
