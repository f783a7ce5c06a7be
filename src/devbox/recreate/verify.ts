/** Checks that memory and home in the new stack are the same as in the old stack. */
import { join } from "node:path";
import { type Counts, countCommand, countsDiffer, parseCounts } from "../counts.ts";
import { boxesOf } from "../engine.ts";
import { treeDiffers } from "../home-tree.ts";
import { askInside } from "../one-off.ts";
import { homeTree, readTree } from "../snapshot.ts";
import { PalaceError } from "../../base/errors.ts";
import type { Job } from "./job.ts";
import type { Room } from "./room.ts";

export type Verdict = Readonly<{ palace: string | undefined; home: readonly string[]; counts: Counts }>;

export async function verify(room: Room, job: Job): Promise<Verdict> {
  const { engine, stack, log } = room;
  log("counting what the memory and the home hold ...");
  const counts = await countNow(room, job.before?.seq ?? 0);
  const { imageId } = (await boxesOf(engine, stack.project)).find(({ service }) => service === "devbox") ?? {};
  if (imageId === undefined) throw gone("devbox", stack.project);
  const source = { engine, project: stack.project, data: stack.volumes.data, devbox: { imageId } };
  const tree = await homeTree(source);
  return {
    counts,
    palace: job.before === null ? undefined : countsDiffer(job.before, counts),
    home: treeDiffers(readTree(snapshotFolder(room.state, job)), tree),
  };
}

export async function countNow({ engine, stack }: Room, upTo: number): Promise<Counts> {
  const broker = (await boxesOf(engine, stack.project)).find(
    ({ service, isRunning }) => service === "broker" && isRunning,
  );
  if (broker === undefined) throw gone("broker", stack.project);
  return parseCounts(await askInside(engine, broker.id, countCommand(upTo)));
}

export function snapshotFolder(state: string, { id }: Job): string {
  return join(state, "snapshots", id);
}

function gone(service: string, project: string): PalaceError {
  return new PalaceError("BROKER_START_FAILED", `the ${service} does not run`, `docker compose -p ${project} logs`);
}
