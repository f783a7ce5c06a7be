/** Lists every drawer of a palace, page by page. */
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";

const PAGE = 100;

/** Returns one field of each drawer of a wing, by default of all wings. */
export async function listDrawers(
  mcp: StdioMcp,
  field: "drawer_id" | "content_preview",
  wing?: string,
): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const page = await mcp.call("mempalace_list_drawers", { limit: PAGE, offset: found.length, ...(wing && { wing }) });
    const drawers = page["drawers"] as Record<string, string>[];
    if (drawers.length === 0) return found;
    found.push(...drawers.map((drawer) => drawer[field] ?? ""));
  }
}
