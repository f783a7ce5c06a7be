/** Checks whether pi itself connects to the palace (pi 1.x reads mcp.json), because the tools must not appear twice. */
import { basename, join } from "node:path";
import { isRecord, readRecord } from "../../base/parse-json.ts";
import type { Pi, PiContext } from "./host.ts";

const OURS = /^(?:mempalace|palace)(?:[-_].*)?$/;
const COMMANDS: ReadonlySet<string> = new Set(["mempalace-mcp", "mp-shim", "mp-shim.cjs", "palace", "palace.js"]);

export function isServedByPi(pi: Pi, ctx: PiContext, piDir: string): boolean {
  if (typeof pi.registerMcpServer !== "function" || process.argv.includes("--no-mcp")) return false;
  const files = [join(piDir, "mcp.json")];
  if (ctx.isProjectTrusted?.() === true) files.push(join(ctx.cwd, ".pi", "mcp.json"));
  return files.some((file) => {
    const { mcpServers: servers } = readRecord(file);
    return isRecord(servers) && Object.entries(servers).some(([name, server]) => isOurs(name, server));
  });
}

function isOurs(name: string, server: unknown): boolean {
  if (!isRecord(server) || server["enabled"] === false) return false;
  const args: unknown[] = Array.isArray(server["args"]) ? (server["args"] as unknown[]) : [];
  const words = [server["command"], ...args].filter((word) => typeof word === "string");
  return OURS.test(name) || words.some((word) => COMMANDS.has(basename(word)));
}
