/** Tells the user which setting of the sandbox allows sockets. Loaded only in a sandbox that forbids sockets. */
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";

const USE_TOOLS = "use the palace's MCP tools, which run outside the sandbox";

/** Returns `error` with a hint for the sandbox of this process, or `error` itself for an unknown sandbox. */
export function namedSandbox(config: Config, error: PalaceError): PalaceError {
  const hint = hintOf(config);
  return hint === undefined ? error : new PalaceError(error.code, error.message, hint, { cause: error });
}

function hintOf({ sandbox, paths: { socketPath } }: Config): string | undefined {
  const isMac = process.platform === "darwin";
  // On Linux, sandboxes cannot allow single sockets by their paths.
  const network = isMac ? `{"allowUnixSockets":["${socketPath}"]}` : '{"allowAllUnixSockets":true}';
  switch (sandbox) {
    case "claude-code":
      return `put "sandbox":{"network":${network}} into ~/.claude/settings.json, or ${USE_TOOLS}`;
    case "sandbox-runtime":
      return `put "network":${network} into ~/.srt-settings.json`;
    case "codex":
      return isMac
        ? `name ${socketPath} under network.allow_unix_sockets in ~/.codex/config.toml, or ${USE_TOOLS}`
        : `Codex has no setting that allows one socket: ${USE_TOOLS}`;
    case undefined:
      return undefined;
  }
}
