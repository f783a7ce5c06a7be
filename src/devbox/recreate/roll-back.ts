/** Undoes a recreate: gives the old images their names again, restores changed data and starts the old stack. */
import { composeFailed } from "../failure.ts";
import { boxesOf } from "../engine.ts";
import { countsDiffer } from "../counts.ts";
import { treeDiffers } from "../home-tree.ts";
import { countStopped, homeTree, readTree, restoreHome, restorePalace, type Source } from "../snapshot.ts";
import { PalaceError } from "../../base/errors.ts";
import { imagesOf, putImagesBack } from "./images.ts";
import type { Job } from "./job.ts";
import type { Room } from "./room.ts";
import { switchOver } from "./switch.ts";
import { snapshotFolder } from "./verify.ts";

/** Errors: STORE_CORRUPT for an incomplete snapshot, BROKER_START_FAILED. After an error the job remains and can be tried again. */
export async function rollBack(room: Room, job: Job): Promise<void> {
  const { engine, stack, state, log } = room;
  log(`rolling back: ${job.why ?? ""}`);
  await putImagesBack(room, job);
  for (const { id, isRunning } of await boxesOf(engine, stack.project))
    if (isRunning) await engine.getContainer(id).stop();
  const source = await sourceOf(room, job);
  const folder = snapshotFolder(state, job);
  // Runs again after a killed rollback: files that were already restored no longer differ.
  const { palace, home } = await whatDiffers(room, job, source);
  if (palace) {
    log("restoring the memory from the snapshot (the present memory is kept beside it) ...");
    await restorePalace(source, folder);
  }
  if (home.length > 0) {
    log("restoring the home's files from the snapshot (present files are kept as NAME.~1~) ...");
    await restoreHome(source, folder, home);
  }
  // switchOver replaces containers by force if one of `old` exists. So `old` has only the containers with a new image.
  const failure = await switchOver(room, { ...job, old: await newBoxes(room, job) });
  if (failure === undefined) return;
  log(failure);
  throw composeFailed("the old stack did not become healthy either; its data are in the snapshot", failure, room.place);
}

/** Compares memory and home with the snapshot. A newer schema is a difference, too: the old version does not know its tables. */
async function whatDiffers(
  room: Room,
  job: Job,
  source: Source,
): Promise<{ palace: boolean; home: readonly string[] }> {
  const { before, restoresHome } = job;
  if (before === null) return { palace: false, home: [] };
  const now = await countStopped(source, before.seq);
  const palace = now.schema !== before.schema || countsDiffer(before, now) !== undefined;
  const home = restoresHome ? treeDiffers(readTree(snapshotFolder(room.state, job)), await homeTree(source)) : [];
  return { palace, home };
}

/** Returns the containers that do not have their old image. */
async function newBoxes({ engine, stack }: Room, job: Job): Promise<Job["old"]> {
  const images = imagesOf(job);
  const boxes = await boxesOf(engine, stack.project);
  return boxes.flatMap(({ id, service, imageId }) => {
    const known = job.old.find((one) => one.service === service);
    return known === undefined || images.get(known.service) === imageId
      ? []
      : [{ id, service: known.service, imageId }];
  });
}

/** Returns the input for snapshots and restores: the present broker container, and the old images. */
export async function sourceOf({ engine, stack, cacheDir, log }: Room, job: Job): Promise<Source> {
  const images = imagesOf(job);
  const broker = (await boxesOf(engine, stack.project)).find(({ service }) => service === "broker");
  const [brokerImage, devboxImage] = [images.get("broker"), images.get("devbox")];
  if (broker === undefined || brokerImage === undefined || devboxImage === undefined)
    throw new PalaceError(
      "BROKER_START_FAILED",
      "the stack has no container of its broker or of its devbox",
      "palace devbox up",
    );
  return {
    ...{ engine, project: stack.project, data: stack.volumes.data, cacheDir, log },
    broker: { id: broker.id, imageId: brokerImage },
    devbox: { imageId: devboxImage },
  };
}
