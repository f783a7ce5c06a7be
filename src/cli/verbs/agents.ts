/** `palace install status` lists the coding agents of this machine, and whether they are wired. */
import { type AgentName, AGENTS, configFile, opencodeGeneration } from "../../agents/install/agent-files.ts";
import { findAgent } from "../../agents/install/detect.ts";
import { type Parts, wiringOf } from "../../agents/install/install.ts";
import type { Rival } from "../../agents/install/rivals/rival.ts";
import { rivalsOf } from "../../agents/install/rivals/rivals.ts";
import { PalaceError } from "../../base/errors.ts";
import { noticeRivals, wiringParts } from "../report/wiring.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace install status

Lists the coding agents of this machine, each with its state:

  wired      as palace install would do it now
  conflict   wired, but another entry replaces ours or runs beside it, or ours is switched off: the lines below say what to type
  drifted    our entries are incomplete or were changed: palace install repairs them
  read-only  something is missing, and its file cannot be written: palace install AGENT --dry-run prints the lines
  not wired  the agent has no entries of ours

Reads the settings of the home and of this folder, starts no agent, changes nothing.`,
  place: "any",
  run: async ({ values, config, out }) => {
    const parts = wiringParts(config, values.palace);
    const agents = AGENTS.map((agent) => describe(agent, parts));
    out.answer(
      { agents },
      agents.map(({ agent, version, generation, state, config: file }) => [
        generation === undefined ? agent : `${agent} ${generation ?? "1 or 2"}`,
        ...[version ?? "-", state, file],
      ]),
    );
    for (const { agent, state, problem, rivals } of agents) {
      if (problem !== undefined) out.notice(`${agent}: ${problem}`);
      if (state === "drifted") out.hint(`${agent}: palace install ${agent} repairs it`);
      if (state === "read-only") out.hint(`${agent}: palace install ${agent} --dry-run prints the missing lines`);
      noticeRivals(out, agent, rivals);
    }
    return 0;
  },
});

type Described = {
  agent: string;
  found: boolean;
  program: string | null;
  version: string | null;
  /** The generation of opencode; null if neither its version nor its settings show it. */
  generation?: 1 | 2 | null;
  state: string;
  config: string;
  problem?: string;
  rivals: Rival[];
};

function describe(agent: AgentName, parts: Parts): Described {
  const { program, version, hasFolder } = findAgent(agent, parts.places);
  const found = program !== undefined || hasFolder;
  const generation = agent === "opencode" && found ? { generation: opencodeGeneration(parts.places) ?? null } : {};
  const known = { agent, found, program: program ?? null, version: version ?? null, ...generation };
  const config = configFile(agent, parts.places);
  try {
    const wiring = wiringOf(agent, parts);
    if (wiring === "not wired") return { ...known, state: found ? wiring : "not found", config, rivals: [] };
    const rivals = rivalsOf(agent, parts, process.cwd());
    return { ...known, state: wiring === "wired" && rivals.length > 0 ? "conflict" : wiring, config, rivals };
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    return { ...known, state: "unreadable", config, problem: error.message, rivals: [] };
  }
}
