/** `palace install remove`: removes from coding agents' files what install has put there. */
import type { AgentName } from "../../agents/install/agent-files.ts";
import { type Parts, uninstall } from "../../agents/install/install.ts";
import { assertAgent, wiringParts } from "../report/wiring.ts";
import { wireAll } from "../report/wire-all.ts";
import type { Output } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";

const USAGE = `palace install remove claude-code|opencode|pi|all [--dry-run]

Takes back what palace install has written. A file that nobody has changed since is again what it was, byte for byte, or gone if it was
not there before; from one that was changed only what is ours is taken. The palace itself is not touched.

  --dry-run  show what would be written, and write nothing`;

export const verb = defineVerb({
  usage: USAGE,
  options: options("dry-run"),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [name = ""], config, out }) =>
    runUninstall(name, wiringParts(config, (values as { palace?: string }).palace), values["dry-run"] === true, out),
});

export function runUninstall(name: string, parts: Parts, isDryRun: boolean, out: Output): number {
  if (name !== "all") assertAgent(name, []);
  const words = {
    already: "not wired, nothing to take back",
    done: "no longer wired",
    planned: "would be taken back",
    blocked: "cannot be taken back: a file is read-only",
  };
  const does = (agent: AgentName): ReturnType<typeof uninstall> => uninstall(agent, parts, isDryRun);
  return wireAll({ name, isMeant: () => true, does, words, isDryRun }, parts, out);
}
