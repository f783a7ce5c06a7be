/** `palace install status`: lists the coding agents of this machine, and whether they are wired. */
import { AGENTS, configFile } from "../../install/agent-files.ts";
import { findAgent } from "../../install/detect.ts";
import { type Parts, wiringOf } from "../../install/install.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { wiringParts } from "../report/wiring.ts";
import { defineVerb } from "../verb.ts";

const USAGE = `palace install status

The coding agents that are found on this machine: wired (as palace install would do it now), drifted (something of ours is there, but
not as it should be: palace install mends it) or not wired. Reads their settings, starts none of them, changes nothing.`;

export const verb = defineVerb({
  usage: USAGE,
  options: {},
  args: [0, 0],
  place: "any",
  run: async ({ values, config, out }) => {
    const parts = wiringParts(config, (values as { palace?: string }).palace);
    const agents = AGENTS.map((agent) => describe(agent, parts));
    if (out.isJson) out.document({ agents });
    else out.table(agents.map(({ agent, version, state, config: file }) => [agent, version ?? "-", state, file]));
    for (const { agent, state, problem } of agents) {
      if (problem !== undefined) out.notice(`${agent}: ${problem}`);
      if (state === "drifted") out.notice(out.spelled(`${agent}: palace install ${agent} mends it`));
    }
    return 0;
  },
});

type Described = {
  agent: string;
  found: boolean;
  program: string | null;
  version: string | null;
  state: string;
  config: string;
  problem?: string;
};

function describe(agent: (typeof AGENTS)[number], parts: Parts): Described {
  const { program, version, hasFolder } = findAgent(agent, parts.places);
  const found = program !== undefined || hasFolder;
  const known = { agent, found, program: program ?? null, version: version ?? null };
  const config = configFile(agent, parts.places);
  try {
    const wiring = wiringOf(agent, parts);
    return { ...known, state: !found && wiring === "not wired" ? "not found" : wiring, config };
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    return { ...known, state: "unreadable", config, problem: error.message };
  }
}
