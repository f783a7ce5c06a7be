/** A peer's name, tools and revision of MCP. */
import { expect, test } from "vitest";
import { mcpRevision, nameAfter, type Peer, toolProfile } from "../../../src/broker/peer.ts";
import { TOOL_PROFILES, UNNAMED_AGENT } from "../../../src/protocol/spec.ts";
import { MCP_VERSIONS } from "../../../src/protocol/version.ts";

test("each profile of tools is taken as it is named, and any other one is the full profile", () => {
  for (const profile of TOOL_PROFILES) expect(toolProfile(profile)).toBe(profile);
  for (const other of ["all", "", undefined, 7]) expect(toolProfile(other)).toBe("full");
});

test("a revision of MCP that is not known is none", () => {
  for (const version of MCP_VERSIONS) expect(mcpRevision(version)).toBe(version);
  expect(mcpRevision("2020-01-01")).toBeUndefined();
});

test("a connection without a name gets its client's, behind its token's; one with a name keeps it", () => {
  const named = (agent: string, client: unknown): string => {
    const peer = { agent } as Peer;
    nameAfter(peer, client);
    return peer.agent;
  };
  expect(named(UNNAMED_AGENT, { name: "codex" })).toBe("codex");
  expect(named(`box:${UNNAMED_AGENT}`, { name: "codex" })).toBe("box:codex");
  expect(named("pi", { name: "codex" })).toBe("pi");
  for (const client of [undefined, {}, { name: 7 }, "codex"]) expect(named(UNNAMED_AGENT, client)).toBe(UNNAMED_AGENT);
});
