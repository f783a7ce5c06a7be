/** Lists what the user pastes, and into which file, for clients whose settings we do not write. */
import { quoted } from "../../base/shell-word.ts";
import type { Launch } from "./agent-files.ts";

export type Paste = { file: string; lines: string; command: string | undefined };

const SERVER = "mempalace";

type Client = (shim: Launch["shim"]) => Paste;

export const CLIENTS = {
  codex: (shim) => ({
    file: "~/.codex/config.toml",
    command: `codex mcp add ${SERVER} -- ${line(shim)}`,
    lines: [
      `[mcp_servers.${SERVER}]`,
      `command = ${JSON.stringify(shim[0])}`,
      `args = [${shim
        .slice(1)
        .map((word) => JSON.stringify(word))
        .join(", ")}]`,
    ].join("\n"),
  }),
  gemini: (shim) => ({
    file: "~/.gemini/settings.json",
    command: `gemini mcp add -s user ${SERVER} ${line(shim)}`,
    lines: member("mcpServers", shim),
  }),
  cursor: (shim) => ({ file: "~/.cursor/mcp.json", command: undefined, lines: member("mcpServers", shim) }),
  vscode: (shim) => ({
    file: ".vscode/mcp.json (or the user's, by the command `MCP: Open User Configuration`)",
    command: undefined,
    lines: member("servers", shim, { type: "stdio" }),
  }),
  zed: (shim) => ({
    file: "~/.config/zed/settings.json",
    command: undefined,
    lines: member("context_servers", shim),
  }),
} as const satisfies Record<string, Client>;

function member(key: string, [command, ...args]: Launch["shim"], more: Record<string, string> = {}): string {
  return JSON.stringify({ [key]: { [SERVER]: { ...more, command, args } } }, null, 2);
}

function line(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}
