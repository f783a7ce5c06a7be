#!/usr/bin/env node
/** `mp-shim` and `mempalace-mcp`: stdio MCP. Arguments other than --palace DIR are ignored, as upstream ignores them. */
import "../platform/node-version.ts";
import { loadConfig } from "../config/config.ts";
import { PalaceError } from "../protocol/errors.ts";
import { runShim } from "../shim/shim.ts";

const at = process.argv.indexOf("--palace");
const palace =
  at === -1 ? process.argv.find((one) => one.startsWith("--palace="))?.slice("--palace=".length) : process.argv[at + 1];
try {
  if (palace === "" || (at !== -1 && palace === undefined))
    throw new PalaceError("CONFIG_USAGE", "--palace takes a folder", "mp-shim --palace DIR");
  const config = loadConfig(process.env, { palace });
  runShim(config, config.agentName ?? "mcp");
} catch (error) {
  if (!(error instanceof PalaceError)) throw error;
  process.stderr.write(`mp-shim: ${error.message}\n  ${error.hint}\n`);
  process.exitCode = error.exitCode;
}
