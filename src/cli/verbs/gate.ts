/** `palace gate` runs the host's end of an SSH bridge, and manages its entries in `authorized_keys`. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { authorizeKey, revokeKey } from "../../wire/bridge/authorized-keys.ts";
import { gateSocket, runGate, runOwnerGate } from "../../wire/bridge/gate.ts";
import type { Config } from "../../config/config.ts";
import { type Env, lastingSettings } from "../../config/env.ts";
import { createLog } from "../../base/log.ts";
import { wrongUsage } from "../../base/errors.ts";
import { executable } from "../executable.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace gate
palace gate authorize KEY [--streamlocal] [--file FILE]
palace gate revoke KEY [--file FILE]
palace gate socket
palace gate owner

Without arguments: sshd runs it for a bridge's key; it starts a broker if none runs, and connects to it. authorize lets the
public key KEY (of \`palace bridge setup\` in the container) do that and nothing else; revoke removes the entry; socket prints
the socket for a forwarding bridge. owner passes bytes to the broker's own socket: the command line of a Docker user runs it with
\`docker exec\`. An SSH key cannot run it.

  --streamlocal   let the key forward too; it can then reach every socket and port that you can
  --file FILE     default: ~/.ssh/authorized_keys`,
  options: options("streamlocal file="),
  args: [0, 2],
  place: "any",
  run: async ({ values, args, config, env, out }) => {
    const [action, key] = args;
    if (action === undefined) return gate(config, runGate);
    if (action === "owner" && key === undefined) return gate(config, runOwnerGate);
    const file = values.file ?? join(config.model.userHome, ".ssh", "authorized_keys");
    const socketPath = gateSocket(config);
    if (action === "socket" && key === undefined) {
      out.answer({ gateSocket: socketPath }, socketPath);
    } else if (action === "authorize" && key !== undefined) {
      const changed = authorizeKey(file, key, gateCommand(config, env), values.streamlocal === true);
      const shown = `The key may ${changed ? "" : "already "}connect; its entry is in ${file}.`;
      out.answer({ file, changed, gateSocket: socketPath }, shown);
    } else if (action === "revoke" && key !== undefined) {
      const revoked = revokeKey(file, key);
      out.answer({ file, revoked }, revoked ? `The key was removed from ${file}.` : `${file} has no such entry.`);
    } else throw wrongUsage(`palace gate ${args[0] ?? ""} is not a command`, "palace gate --help");
    return 0;
  },
});

/** Returns the command with absolute paths and the current settings: sshd gives the command almost no environment. */
function gateCommand(config: Config, env: Env): string[] {
  const [node, file] = executable("palace");
  const { palace } = config.handedOn();
  return ["env", ...lastingSettings(env), realpathSync(node), realpathSync(file), "gate", ...palace];
}

async function gate(config: Config, run: typeof runGate): Promise<number> {
  const log = createLog(logFile(`${config.paths.stateDir}/gate.log`), config.logLevel);
  try {
    await run({ config, stdin: process.stdin, stdout: process.stdout });
    return 0;
  } catch (error) {
    log.warn("the gate did not open", { asked: config.sshCommand, why: (error as Error).message });
    throw error;
  }
}
