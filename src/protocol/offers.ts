/** Answers the MCP 2026-07-28 requests that need no open palace. While no broker answers, the shim also uses these answers. */
import { INSTRUCTIONS } from "./introduction.ts";
import { CAPABILITIES, discovered } from "./modern.ts";
import { PROMPTS } from "./prompts.ts";
import { RESOURCE_TEMPLATES, RESOURCES } from "./resources.ts";
import type { ToolProfile } from "./headers.ts";
import { toolsOf } from "./tools/profile.ts";
import { MODERN_MCP_VERSION } from "./version.ts";

const OFFERS: Readonly<Record<string, (profile: ToolProfile) => Record<string, unknown>>> = {
  "server/discover": () => discovered(CAPABILITIES, INSTRUCTIONS),
  "tools/list": (profile) => ({ tools: toolsOf(profile, MODERN_MCP_VERSION) }),
  "resources/list": () => ({ resources: RESOURCES }),
  "resources/templates/list": () => ({ resourceTemplates: RESOURCE_TEMPLATES }),
  "prompts/list": () => ({ prompts: PROMPTS }),
};

export const OFFERED: readonly string[] = Object.keys(OFFERS);

/** Returns the answer; undefined if the method is not in OFFERED. */
export function offer(method: string, profile: ToolProfile): Record<string, unknown> | undefined {
  return Object.hasOwn(OFFERS, method) ? OFFERS[method]?.(profile) : undefined;
}
