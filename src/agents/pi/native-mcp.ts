/** Checks whether pi itself connects to the palace: 1.x reads mcp.json, and the tools must not appear twice. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isRecord } from "../../base/is-record.ts";
import type { Pi, PiContext } from "./host.ts";

const OURS = /^(?:mempalace|palace)(?:[-_].*)?$/;
const COMMANDS: ReadonlySet<string> = new Set(["mempalace-mcp", "mp-shim", "mp-shim.cjs", "palace", "palace.js"]);

export function isServedByPi(pi: Pi, ctx: PiContext, piDir: string): boolean {
  if (typeof pi.registerMcpServer !== "function" || process.argv.includes("--no-mcp")) return false;
  const files = [join(piDir, "mcp.json")];
  if (ctx.isProjectTrusted?.() === true) files.push(join(ctx.cwd, ".pi", "mcp.json"));
  return files.some((file) => Object.entries(serversOf(file)).some(([name, server]) => isOurs(name, server)));
}

function serversOf(file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const servers = isRecord(value) ? value["mcpServers"] : undefined;
    return isRecord(servers) ? servers : {};
  } catch {
    return {};
  }
}

function isOurs(name: string, server: unknown): boolean {
  if (!isRecord(server) || server["enabled"] === false) return false;
  const args: unknown[] = Array.isArray(server["args"]) ? (server["args"] as unknown[]) : [];
  const words = [server["command"], ...args].filter((word) => typeof word === "string");
  return OURS.test(name) || words.some((word) => COMMANDS.has(basename(word)));
}
