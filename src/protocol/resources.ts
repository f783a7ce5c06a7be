/** Resources for clients of MCP 2026-07-28. */
import { orElse } from "../base/or-else.ts";

export const WAKE_UP_URI = "palace://wake-up";
const DRAWER_URI = "palace://drawer/";

export const RESOURCES = [
  {
    uri: WAKE_UP_URI,
    name: "wake-up",
    title: "Wake-up",
    description: "The beginning of the memory: what was filed lately, for the start of a session",
    mimeType: "text/plain",
  },
];

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${DRAWER_URI}{drawer_id}`,
    name: "drawer",
    title: "Drawer",
    description: "The text of one drawer, as it was filed; search results and lists name its id",
    mimeType: "text/plain",
  },
];

export function drawerIdIn(uri: string): string | undefined {
  if (!uri.startsWith(DRAWER_URI) || uri.length === DRAWER_URI.length) return undefined;
  return orElse(() => decodeURIComponent(uri.slice(DRAWER_URI.length)), undefined);
}
