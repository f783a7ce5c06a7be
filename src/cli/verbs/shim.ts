/** `palace shim` runs the stdio shim, for agents that are configured with `palace` itself. */
import { UNNAMED_AGENT } from "../../protocol/headers.ts";
import { runShim } from "../../wire/shim.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace shim

Speaks MCP on stdin and stdout and forwards it to the broker, which it starts if needed. Put it, or mp-shim, into an
agent's MCP config; no other arguments are needed.`,
  place: "anew",
  run: async ({ config }) => {
    runShim(
      config,
      config.agentName ?? UNNAMED_AGENT,
      async () => (await import("../../broker/tools/offline.ts")).OFFLINE_RULES,
    );
    // The shim ends the process when its agent disconnects.
    return new Promise<number>(() => {});
  },
});
