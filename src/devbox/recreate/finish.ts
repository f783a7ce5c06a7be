/** Finishes a recreate that was killed. */
import { isSwitched, readJob } from "./job.ts";
import { giveUp, type Recreated, runJob } from "./recreate.ts";
import type { Room } from "./room.ts";

/** Continues a killed recreate. Undefined if none was killed, or if `up` gave it up before step `switch`. Errors: BROKER_START_FAILED. */
export async function finishRecreate(room: Room, by: "up" | "recreate"): Promise<Recreated | undefined> {
  const job = readJob(room.state);
  if (job === undefined) return undefined;
  room.log(`a recreate of ${job.id.slice(0, 10)} stopped at its step ${job.step}: finishing it ...`);
  if (by === "up" && !isSwitched(job)) {
    await giveUp(room, job);
    return undefined;
  }
  return runJob(room, job, isSwitched(job));
}
