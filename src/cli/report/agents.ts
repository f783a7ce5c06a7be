/** Checks this machine's agents for `palace doctor`, and reports only what needs an action. */
import type { Config } from "../../config/config.ts";
import { AGENTS, labelOf } from "../../agents/install/agent-files.ts";
import { wiringOf } from "../../agents/install/install.ts";
import { rivalsOf } from "../../agents/install/rivals/rivals.ts";
import { otherMemory } from "../docker/one-memory.ts";
import { type Check, warn } from "../doctor/check.ts";
import { orElse } from "../../base/or-else.ts";
import { wiringParts } from "./wiring.ts";

export async function checkOneMemory(config: Config): Promise<Check[]> {
  const container = await otherMemory(config);
  if (container === undefined) return [];
  const detail = `a stack runs in Docker (${container}) with another memory than the one this machine's agents use`;
  return [warn("one memory", detail, `palace bridge setup docker:${container}`)];
}

/** Returns no check if `palace install` would change nothing, and nothing on this machine overrides the wiring. */
export function checkAgents(config: Config): Check[] {
  const parts = wiringParts(config, undefined);
  // Leaves out an agent with unreadable settings, which `palace install status` reports.
  const states = AGENTS.map((agent) => ({ agent, state: orElse(() => wiringOf(agent, parts), "not wired") }));
  const checks: Check[] = [];
  const drifted = states.filter(({ state }) => state === "drifted").map(({ agent }) => agent);
  if (drifted.length > 0) {
    const names = drifted.map((agent) => labelOf(agent, parts.places)).join(", ");
    const detail = `${names}: wired by another version of palace-devbox, or changed since`;
    const hint = `palace install ${drifted.length === 1 ? drifted[0] : "all"}`;
    checks.push(warn("agents", detail, hint));
  }
  for (const { agent } of states.filter(({ state }) => state !== "not wired"))
    for (const { what, where, wins, takeOut } of rivalsOf(agent, parts, process.cwd()))
      checks.push(warn("agents", `${labelOf(agent, parts.places)}: ${what} (${where}): ${wins}`, takeOut));
  return checks;
}
