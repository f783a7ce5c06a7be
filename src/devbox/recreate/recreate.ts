/** Replaces the stack's containers by new ones from new images. If the new stack does not work, brings the old images back. */
import { join } from "node:path";
import { PalaceError } from "../../base/errors.ts";
import { runCompose } from "../compose.ts";
import { composeFailed } from "../failure.ts";
import type { Counts } from "../counts.ts";
import { removeOldSnapshots, takeSnapshot } from "../snapshot.ts";
import { drain, hasRunSince, startBridged, startOld, withBridged } from "./drain.ts";
import { keepImages, oldBoxes, putImagesBack } from "./images.ts";
import { endJob, enter, isSwitched, type Job, newJob, writeJob } from "./job.ts";
import { rollBack, sourceOf } from "./roll-back.ts";
import type { Room } from "./room.ts";
import { switchOver } from "./switch.ts";
import { snapshotFolder, verify } from "./verify.ts";

export type Recreated = Readonly<{
  counts: Counts;
  snapshot: string;
  /** Files of the home that differ from the snapshot after a resumed recreate, because a user may have worked in the new stack. */
  changed: readonly string[];
}>;

const SNAPSHOTS_KEPT = 2;

export async function beginJob(room: Room, isBuilding: boolean): Promise<Job> {
  return writeJob(room.state, newJob(await oldBoxes(room), isBuilding));
}

/** Runs the remaining steps. `isResumed`: a user may have worked in the new stack, so the home is not restored. Errors: BROKER_START_FAILED. */
export async function runJob(room: Room, given: Job, isResumed: boolean): Promise<Recreated> {
  let job = given;
  if (job.step === "roll-back") return endRolledBack(room, job);
  if (job.step === "switch" && (await hasRunSince(room, job))) job = { ...job, step: "drain" };
  if (job.step === "keep-images" || job.step === "build") job = await prepare(room, job);
  // Repeats `drain` even if the last run had reached `snapshot`, because the stack may have been started in between.
  if (room.signal?.aborted === true && !isSwitched(job)) await giveUp(room, job);
  room.signal?.throwIfAborted();
  if (job.step === "drain" || job.step === "snapshot") job = await copy(room, job);
  if (job.step === "switch") {
    job = enter(room.state, job, "switch");
    const failure = await switchOver(room, job);
    if (failure !== undefined) {
      room.log(failure);
      return endRolledBack(room, { ...job, why: "the new stack did not become healthy", restoresHome: !isResumed });
    }
  }
  job = enter(room.state, job, "verify");
  const { counts, palace, home } = await verify(room, job);
  const isHomeOther = home.length > 0 && !isResumed;
  if (palace !== undefined || isHomeOther) {
    const why = palace ?? `the home's ${home.slice(0, 3).join(", ")} ${home.length === 1 ? "is" : "are"} not as before`;
    return endRolledBack(room, { ...job, why, restoresHome: !isResumed });
  }
  await startBridged(room, job);
  endJob(room.state);
  removeOldSnapshots(join(room.state, "snapshots"), SNAPSHOTS_KEPT);
  return { counts, snapshot: snapshotFolder(room.state, job), changed: home };
}

async function prepare(room: Room, given: Job): Promise<Job> {
  let job = enter(room.state, given, "keep-images");
  await keepImages(room, job);
  job = enter(room.state, job, "build");
  if (job.isBuilding) {
    room.log("building the images; agents may continue meanwhile ...");
    const failure = await runCompose(room.place, ["build", ...room.stack.services], room).catch(
      async (error: unknown) => {
        await giveUp(room, job);
        throw error;
      },
    );
    if (failure !== undefined) {
      room.log(failure);
      await giveUp(room, job);
      throw composeFailed("an image could not be built; nothing was changed", failure, room.place);
    }
  }
  return { ...job, step: "drain" };
}

async function copy(room: Room, given: Job): Promise<Job> {
  let job = enter(room.state, given, "drain");
  job = enter(room.state, await drain(room, job), "snapshot");
  try {
    room.signal?.throwIfAborted();
    const { counts } = await takeSnapshot(await sourceOf(room, job), snapshotFolder(room.state, job));
    room.signal?.throwIfAborted();
    return { ...job, before: counts, step: "switch" };
  } catch (error) {
    // Without a copy, a rollback would be impossible.
    room.log("starting the stack again as it was ...");
    await giveUp(room, job);
    throw error;
  }
}

/** Ends a job that has not reached `switch`: the old stack runs again with the old images. Ctrl-C does not interrupt this. */
export async function giveUp(room: Room, job: Job): Promise<void> {
  await putImagesBack(room, job);
  if (!(await startOld(room, job))) await switchOver({ ...room, signal: undefined }, job);
  endJob(room.state);
}

async function endRolledBack(room: Room, job: Job): Promise<never> {
  const entered = enter(room.state, await withBridged(room, job), "roll-back");
  await rollBack(room, entered);
  await startBridged(room, entered);
  endJob(room.state);
  throw new PalaceError(
    "BROKER_START_FAILED",
    `rolled back to the old image: ${job.why ?? "the new stack failed its check"}`,
    `the stack runs as before (palace devbox status); a copy of memory and home is in ${snapshotFolder(room.state, job)}`,
  );
}
