/** Ends the stack: removes the containers. Memory and home stay, unless the caller also removes the volumes. */
import { join } from "node:path";
import { unavailable, wrongUsage } from "../base/errors.ts";
import { runCompose, type Watch } from "./compose.ts";
import { composeFailed } from "./failure.ts";
import { boxesOf } from "./engine.ts";
import { currentJob, startOld, stopWriters } from "./recreate/drain.ts";
import { sourceOf } from "./recreate/roll-back.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { Opened } from "./opened.ts";

/** Options that include the services that do not start by default. */
const ALL = ["--profile", "bridged", "--profile", "owner"];

/** Removes the containers. Errors: BROKER_START_FAILED with compose's message. */
export async function takeDown({ place }: Pick<Opened, "place">, withVolumes: boolean, watch: Watch): Promise<void> {
  const failure = await runCompose(place, [...ALL, "down", ...(withVolumes ? ["--volumes"] : [])], watch);
  if (failure === undefined) return;
  watch.log(failure);
  throw composeFailed("the stack did not end", failure, place);
}

/** Checks that the volumes are deleted. Compose keeps a volume that another container uses, and reports success. Errors: STORE_UNAVAILABLE. */
export async function assertErased({ engine, stack }: Opened): Promise<void> {
  for (const name of Object.values(stack.volumes)) {
    const users = await engine.listContainers({ all: true, filters: { volume: [name] } });
    if (users.length > 0)
      throw unavailable(
        `the volume ${name} is not deleted, because another container uses it`,
        `docker ps --all --filter volume=${name} shows the container; remove it, then: docker volume rm ${name}`,
      );
  }
}

/** Stops the containers that can write, copies memory and home, and returns the copy's folder. Errors: CONFIG_USAGE without containers. */
export async function lastCopy(opened: Opened, cacheDir: string, watch: Watch): Promise<string> {
  const { engine, stack, state } = opened;
  if (!(await boxesOf(engine, stack.project)).some(({ service }) => service === "broker"))
    throw wrongUsage(
      "the stack has no containers, so its volumes cannot be copied; nothing was changed",
      "bring it up first: palace devbox up; or add --no-backup",
    );
  const room = { ...opened, ...watch, cacheDir };
  const job = await currentJob(room);
  const folder = join(state, "erased", job.id);
  await stopWriters(room);
  try {
    await takeSnapshot(await sourceOf(room, job), folder);
    watch.signal?.throwIfAborted();
  } catch (error) {
    await startOld(room, job);
    throw error;
  }
  return folder;
}
