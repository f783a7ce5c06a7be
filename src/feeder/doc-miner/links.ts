/** After a mine: what the names on its drawers join, hallways in the wing and tunnels to others. Called by feed.ts. */
import { type Caller, send } from "../send.ts";
import type { Run } from "./run.ts";

/** A mine does not fail for what can be made of it again. */
export async function rebuildLinks({ project, registry, report, watch, signal }: Run, caller: Caller): Promise<void> {
  const { wing } = project;
  const { topicsByWing } = registry;
  const topics = Object.hasOwn(topicsByWing, wing) ? { topics: topicsByWing } : {};
  try {
    for (let left = 1; left > 0 && !signal.aborted;) {
      const made = await send(caller, signal, "link.rebuild", { wing, ...topics });
      left = made.left;
      report.links = { hallways: made.hallways, tunnels: made.tunnels };
    }
  } catch (error) {
    watch.notice(`Hallways and tunnels of wing ${wing} are as they were: ${(error as Error).message}`);
  }
}
