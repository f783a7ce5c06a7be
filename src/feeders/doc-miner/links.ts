/** Rebuilds a wing's hallways and tunnels after a run, from the names in the drawers. */
import { type Caller, send } from "../send.ts";
import type { Run } from "./run.ts";

/** Returns true if all links were made. An error does not fail the run, because a later run rebuilds the links. */
export async function rebuildLinks(
  { project, registry, report, watch, signal, options }: Run,
  caller: Caller,
): Promise<boolean> {
  const { wing } = project;
  const { topicsByWing } = registry;
  const { hallwayMin, topicsMin } = options.filing;
  const rules = { ...(hallwayMin !== undefined && { hallwayMin }), ...(topicsMin !== undefined && { topicsMin }) };
  const topics = Object.hasOwn(topicsByWing, wing) ? { topics: topicsByWing } : {};
  try {
    let left = 1;
    while (left > 0 && !signal.aborted) {
      const made = await send(caller, signal, "link.rebuild", { wing, ...topics, ...rules });
      left = made.left;
      report.links = { hallways: made.hallways, tunnels: made.tunnels };
    }
    return left === 0;
  } catch (error) {
    watch.notice(`Hallways and tunnels of wing ${wing} were not updated: ${(error as Error).message}`);
    return false;
  }
}
