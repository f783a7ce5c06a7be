#!/usr/bin/env node
/** MCP over stdio, for the commands `mp-shim` and `mempalace-mcp`. Ignores unknown arguments, as upstream does. */
import { loadConfig } from "../config/config.ts";
import "../base/node-version.ts";
import { PalaceError, wrongUsage } from "../base/errors.ts";
import { UNNAMED_AGENT } from "../protocol/headers.ts";
import { runShim } from "../wire/shim.ts";

const HELP = `usage: mempalace-mcp [--palace DIR]

Speaks MCP on stdin and stdout and passes it on to the broker, which it starts if needed. Put it into an agent's MCP config;
mp-shim is the same command. No arguments are needed.

  --palace DIR  the palace's folder (default: MEMPALACE_PALACE_PATH, else MEMPALACE_PATH, else ~/.mempalace); a new palace
                begins there if there is none
  --version     print the version
`;

const argv = process.argv.slice(2);
if (argv.some((one) => one === "--help" || one === "-h")) process.stdout.write(HELP);
else if (argv.includes("--version")) void printVersion();
else void run();

// This import and those below are lazy, because a shim must start fast.
async function printVersion(): Promise<void> {
  const { VERSION } = await import("../base/version.ts");
  process.stdout.write(`palace-devbox ${VERSION}\n`);
}

async function run(): Promise<void> {
  const at = argv.indexOf("--palace");
  const palace = at === -1 ? argv.find((one) => one.startsWith("--palace="))?.slice("--palace=".length) : argv[at + 1];
  try {
    if (palace === "" || (at !== -1 && palace === undefined))
      throw wrongUsage("--palace takes a folder", "mp-shim --palace DIR");
    const config = loadConfig(process.env, { palace });
    if (palace !== undefined) {
      const { assertPlace } = await import("../cli/terminal/place.ts");
      assertPlace(config, "anew", (line) => process.stderr.write(`mp-shim: ${line}\n`));
    }
    runShim(
      config,
      config.agentName ?? UNNAMED_AGENT,
      async () => (await import("../broker/tools/offline.ts")).OFFLINE_RULES,
    );
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    process.stderr.write(`mp-shim: ${error.message}\n  ${error.hint}\n`);
    process.exitCode = error.exitCode;
  }
}
