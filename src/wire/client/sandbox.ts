/** Names the setting of the sandbox that lets this process open no socket. Loaded only then. */
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";

const USE_TOOLS = "use the palace's MCP tools, which run outside the sandbox";

/** Returns `error` with the hint for the sandbox that this process runs in; `error` itself when that is not known. */
export function namedSandbox(config: Config, error: PalaceError): PalaceError {
  const hint = hintOf(config);
  return hint === undefined ? error : new PalaceError(error.code, error.message, hint, { cause: error });
}

function hintOf({ sandbox, paths: { socketPath } }: Config): string | undefined {
  const isMac = process.platform === "darwin";
  // Linux cannot tell one socket from another by its path: there allowUnixSockets has no effect.
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
