/** Versions of our own protocol between client and broker. Version 1 is of 2026-11. */
export const PROTOCOL = { min: 1, max: 1 } as const;

/** MCP revisions with the handshake `initialize`, newest first (palace.md 2.2). */
export const MCP_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** MCP revision without a handshake: each request has the revision in `_meta`. */
export const MODERN_MCP_VERSION = "2026-07-28";

export type McpVersion = (typeof MCP_VERSIONS)[number] | typeof MODERN_MCP_VERSION;

/** Returns the revision to use: `asked` if we know it, our newest if we do not, and the oldest if the client sent none. */
export function negotiateMcpVersion(asked: unknown): (typeof MCP_VERSIONS)[number] {
  if (asked === undefined || asked === null) return "2024-11-05";
  return MCP_VERSIONS.find((version) => version === asked) ?? MCP_VERSIONS[0];
}

/** MemPalace's own server name, which agents' configurations and skills use. */
export const SERVER_NAME = "mempalace";
