/** Agents whose wiring has drifted, wired again by the installer. Imported by fix.ts. */
import type { Config } from "../../config/config.ts";
import { AGENTS } from "../../agents/install/agent-files.ts";
import { install, wiringOf } from "../../agents/install/install.ts";
import type { Change } from "../../agents/install/plan.ts";
import { plural } from "../terminal/output.ts";
import { willChange, wiringParts } from "../report/wiring.ts";
import type { Fix } from "./check.ts";

export function agentFixes(config: Config): Fix[] {
  const parts = wiringParts(config, undefined);
  return AGENTS.flatMap((agent): Fix[] => {
    const changes = driftOf(agent, parts);
    if (changes.length === 0 || changes.some(namesAnother)) return [];
    const what = `wire ${agent} again: ${changes.map(({ path }) => path).join(", ")}`;
    const run = (): string => {
      const { backups } = install(agent, parts, false);
      return backups.size === 0 ? what : `${what} (${plural(backups.size, "file")} copied beside itself first)`;
    };
    return [{ name: "agents", what, run }];
  });
}

/** Returns no change for settings that cannot be read: `palace install status` reports them. */
function driftOf(agent: (typeof AGENTS)[number], parts: Parameters<typeof install>[1]): Change[] {
  try {
    if (wiringOf(agent, parts) !== "drifted") return [];
    return install(agent, parts, true).changes.filter(({ action }) => willChange(action));
  } catch {
    return [];
  }
}

/** Returns true if the agent is wired with `--palace` and the new wiring is not: its user wants that palace. */
function namesAnother({ current, next }: Change): boolean {
  return current?.includes("--palace") === true && next?.includes("--palace") !== true;
}
