/** What a recreate that was killed has left, for whoever comes next: the next recreate, or an `up`. */
import { readJob, STEPS } from "./job.ts";
import { giveUp, type Recreated, runJob } from "./recreate.ts";
import type { Room } from "./room.ts";
import { sweepOneOffs } from "../one-off.ts";

/**
 * Shape: undefined where nothing was left, or where `up` has given up what had changed nothing yet. Errors: of runJob; then the stack is
 * the old one, and who asked for something else asks again.
 */
export async function finishRecreate(room: Room, by: "up" | "recreate"): Promise<Recreated | undefined> {
  const job = readJob(room.state);
  if (job === undefined) return undefined;
  room.log(`a recreate of ${job.id.slice(0, 10)} was ended at its step ${job.step}: finishing it ...`);
  if (by === "up" && STEPS.indexOf(job.step) < STEPS.indexOf("switch")) {
    await sweepOneOffs(room.engine, room.stack.project);
    await giveUp(room, job);
    return undefined;
  }
  const isResumed = STEPS.indexOf(job.step) >= STEPS.indexOf("switch");
  return runJob(room, job, isResumed);
}
