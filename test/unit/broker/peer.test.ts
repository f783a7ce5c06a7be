import { expect, test } from "vitest";
import { mcpRevision, nameAfter, type Peer, toolProfile } from "../../../src/broker/peer.ts";
import { TOOL_PROFILES, UNNAMED_AGENT } from "../../../src/protocol/headers.ts";
import { MCP_VERSIONS } from "../../../src/protocol/version.ts";

test("an unknown tool profile means the full profile", () => {
  for (const profile of TOOL_PROFILES) expect(toolProfile(profile)).toBe(profile);
  for (const other of ["all", "", undefined, 7]) expect(toolProfile(other)).toBe("full");
});

test("mcpRevision returns a known revision, and undefined for an unknown one", () => {
  for (const version of MCP_VERSIONS) expect(mcpRevision(version)).toBe(version);
  expect(mcpRevision("2020-01-01")).toBeUndefined();
});

test("a connection without an agent name gets the names of its token and client", () => {
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
