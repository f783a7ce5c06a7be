/** Decides which calls only read. Any other call counts as a write: it needs the role `agent` and is never sent twice. */

export type ToolNote = { name: string; annotations?: { readOnlyHint?: unknown } };

/** MCP's own methods that change nothing. */
const READS: ReadonlySet<string> = new Set([
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
]);

/** Read tools of MemPalace 3.3.6, which sends no annotations. Source: palace.md 2.10. */
const UPSTREAM_READS: ReadonlySet<string> = new Set(
  [
    "status list_wings list_rooms get_taxonomy get_aaak_spec search check_duplicate get_drawer list_drawers diary_read",
    "kg_query kg_timeline kg_stats traverse find_tunnels graph_stats list_tunnels follow_tunnels",
  ]
    .join(" ")
    .split(" ")
    .map((name) => `mempalace_${name}`),
);

export class ToolBook {
  #tools = new Map<string, ToolNote>();

  replace(tools: readonly ToolNote[]): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  isWrite(method: string, params: Record<string, unknown>): boolean {
    if (method !== "tools/call") return !READS.has(method);
    const { name } = params;
    const tool = typeof name === "string" ? this.#tools.get(name) : undefined;
    if (tool === undefined) return true;
    if (tool.annotations !== undefined) return tool.annotations.readOnlyHint !== true;
    return !UPSTREAM_READS.has(tool.name);
  }
}
