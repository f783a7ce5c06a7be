/** Finds rivals: settings and programs that an agent uses instead of our wiring. Each agent has a table with one row per kind of rival. */
import { statSync } from "node:fs";
import { namesIn } from "../../../base/read-folder.ts";
import { readText } from "../../../base/regular-file.ts";
import type { AgentPlaces } from "../../../config/agents.ts";
import type { AgentName, Launch } from "../agent-files.ts";
import { findAgent } from "../detect.ts";
import { CLAUDE_ROWS } from "./claude-code.ts";
import { OPENCODE_ROWS } from "./opencode.ts";
import { PI_ROWS } from "./pi.ts";
import type { Rival, RivalRow } from "./rival.ts";
import { orElse } from "../../../base/or-else.ts";

export const RIVALS: Readonly<Record<AgentName, readonly RivalRow[]>> = {
  "claude-code": CLAUDE_ROWS,
  opencode: OPENCODE_ROWS,
  pi: PI_ROWS,
};

/** Reads the agents' settings from `cwd` and from the home; skips files that it cannot read. */
export function rivalsOf(
  agent: AgentName,
  { places, launch }: { places: AgentPlaces; launch: Launch },
  cwd: string,
): Rival[] {
  const { version } = findAgent(agent, places);
  const look = { places, launch, cwd, version, read: readText, names: namesIn, isFolder };
  return RIVALS[agent].flatMap(({ find }) => find(look));
}

function isFolder(path: string): boolean {
  return orElse(() => statSync(path).isDirectory(), false);
}
