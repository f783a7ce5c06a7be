/** `mempalace mcp` prints the lines that register the server with an agent. */
import { quoted } from "../../base/shell-word.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `mempalace mcp

Prints how to register the MCP server with Claude Code and Codex.`,
  place: "any",
  run: ({ config: { paths }, out }) => {
    const base = "mempalace-mcp";
    const isNamed = paths.palaceDir === paths.home;
    const server = isNamed ? `${base} --palace ${quoted(paths.home)}` : base;
    const lines = [
      "MemPalace MCP quick setup:",
      `  claude mcp add mempalace -- ${server}`,
      `  codex mcp add mempalace -- ${server}`,
      `\nRun the server directly:\n  ${server}`,
      ...(isNamed
        ? []
        : [
            "\nOptional custom palace:",
            `  claude mcp add mempalace -- ${base} --palace /path/to/palace`,
            `  codex mcp add mempalace -- ${base} --palace /path/to/palace`,
            `  ${base} --palace /path/to/palace`,
          ]),
    ];
    return out.answer({ server }, lines.join("\n"));
  },
});
