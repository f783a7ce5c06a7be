/** Wires coding agents to the palace and unwires them: it plans everything first, then writes. */
import type { AgentPlaces } from "../../config/agents.ts";
import type { PalaceError } from "../../base/errors.ts";
import { type AgentName, formerRows, isOfProfile, type Launch, profilesOf, rowsOf } from "./agent-files.ts";
import { apply, ChangedMeanwhile } from "./apply.ts";
import { type Change, type Plan, planInstall, planUninstall } from "./plan.ts";
import { InstallState } from "./record.ts";

export type Parts = {
  places: AgentPlaces;
  launch: Launch;
  /** The package's folder with the files to copy: dist/agents. */
  shipped: string;
  stateDir: string;
};

/** `elsewhere`: folders of other profiles, which remain wired. `blocked`: why a dry run's changes could not be written. */
export type Outcome = {
  changes: Change[];
  backups: ReadonlyMap<string, string>;
  elsewhere: string[];
  blocked: PalaceError | undefined;
};
/** "drifted": our entries are incomplete or changed. "read-only": entries are missing, and the file cannot be written. */
export type Wiring = "wired" | "drifted" | "not wired" | "read-only";

/** Maximum number of attempts. An attempt fails if the agent writes its settings between our plan and our write. */
const TRIES = 5;

/** Wires an agent, or leaves all files unchanged. Errors: CONFIG_BAD_VALUE with line and column; STORE_READ_ONLY, STORE_DISK_FULL. */
export function install(agent: AgentName, parts: Parts, isDryRun: boolean): Outcome {
  return carryOut(agent, parts, isDryRun, (state) =>
    planInstall(rowsOf(agent, parts), { state, record: state.read(agent), lines: `palace install ${agent} --dry-run` }),
  );
}

/** Removes our entries from this profile; the agent's other profiles stay wired. Errors: as `install`. */
export function uninstall(agent: AgentName, parts: Parts, isDryRun: boolean): Outcome {
  const rows = [...rowsOf(agent, parts), ...formerRows(agent, parts)];
  const isHere = (path: string): boolean => isOfProfile(agent, parts.places, path);
  const lines = `palace install remove ${agent} --dry-run`;
  return carryOut(agent, parts, isDryRun, (state) =>
    planUninstall(rows, { state, record: state.read(agent), lines }, isHere),
  );
}

function carryOut(agent: AgentName, parts: Parts, isDryRun: boolean, plan: (state: InstallState) => Plan): Outcome {
  const state = new InstallState(parts.stateDir);
  const outcome = ({ changes, record, leaves, blocked }: Plan, backups: Outcome["backups"]): Outcome => ({
    ...{ changes, backups, blocked },
    elsewhere: leaves ? profilesOf(agent, record?.files.map(({ path }) => path) ?? []) : [],
  });
  if (isDryRun) return outcome(plan(state), new Map());
  const release = state.lock();
  try {
    for (let left = TRIES; ; left -= 1)
      try {
        const planned = plan(state);
        if (planned.blocked !== undefined) throw planned.blocked;
        return outcome(planned, apply(agent, planned, state, Date.now()).backups);
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile) || left <= 1) throw error;
      }
  } finally {
    release();
  }
}

export function wiringOf(agent: AgentName, parts: Parts): Wiring {
  const { changes, blocked } = install(agent, parts, true);
  const files = changes.filter(({ action }) => action !== "skip");
  if (files.every(({ action }) => action === "already")) return "wired";
  if (blocked !== undefined) return "read-only";
  return files.some(({ isOurs }) => isOurs) ? "drifted" : "not wired";
}
