/** Every drawer that a palace lists, page by page, for the tests that count what is there. */
import type { StdioMcp } from "../../src/cli/proof/stdio-mcp.ts";

const PAGE = 100;

/** One field of each drawer, of one wing or of all. */
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
