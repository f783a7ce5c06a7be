/** What `palace doctor` says of this machine's agents: nothing, unless there is something to do. Imported by checks.ts. */
import type { Config } from "../../config/config.ts";
import { AGENTS } from "../../install/agent-files.ts";
import { wiringOf } from "../../install/install.ts";
import { otherMemory } from "../docker/one-memory.ts";
import type { Check } from "../doctor/check.ts";
import { wiringParts } from "./wiring.ts";

/** Nothing where no stack runs in Docker beside this machine's own memory. */
export async function checkOneMemory(config: Config): Promise<Check[]> {
  const container = await otherMemory(config);
  if (container === undefined) return [];
  const detail = `a stack runs in Docker (${container}) with another memory than the one this machine's agents use`;
  return [{ name: "one memory", state: "warn", detail, hint: `palace bridge setup docker:${container}` }];
}

/** Nothing where every agent that is wired is wired as `palace install` would do it now. */
export function checkAgents(config: Config): Check[] {
  const parts = wiringParts(config, undefined);
  const drifted = AGENTS.filter((agent) => {
    try {
      return wiringOf(agent, parts) === "drifted";
    } catch {
      // Settings that cannot be read: `palace install status` tells of them.
      return false;
    }
  });
  if (drifted.length === 0) return [];
  const detail = `${drifted.join(", ")}: wired by another version of ours, or changed since`;
  return [
    { name: "agents", state: "warn", detail, hint: `palace install ${drifted.length === 1 ? drifted[0] : "all"}` },
  ];
}
