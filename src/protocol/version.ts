/**
 * Versions of the protocols. `PROTOCOL` is our own, between client and broker: a rising integer. `MCP_VERSIONS` are the MCP revisions with
 * `initialize`, newest first (Source: palace.md 2.2). `MODERN_MCP_VERSION` has no `initialize`: each request names it in `_meta`
 * (modern.ts).
 *
 * History of PROTOCOL: 1 (2026-11) first.
 */
export const PROTOCOL = { min: 1, max: 1 } as const;

export const MCP_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export const MODERN_MCP_VERSION = "2026-07-28";

export type McpVersion = (typeof MCP_VERSIONS)[number] | typeof MODERN_MCP_VERSION;

/** Returns the revision to use, by MCP's rule: a known revision is kept, an unknown one becomes our newest, none means the oldest. */
export function negotiateMcpVersion(asked: unknown): (typeof MCP_VERSIONS)[number] {
  if (asked === undefined || asked === null) return "2024-11-05";
  return MCP_VERSIONS.find((version) => version === asked) ?? MCP_VERSIONS[0];
}

/** Server name that `initialize` reports. Agents' configs and skills know the server as `mempalace`. */
export const SERVER_NAME = "mempalace";
