/** Stops every container that can write, first those with agents. The broker answers accepted calls before it ends. */
import { boxesOf, unlessMissing } from "../engine.ts";
import { oldBoxes } from "./images.ts";
import { type Job, newJob, writeJob } from "./job.ts";
import type { Room } from "./room.ts";

const BRIDGED = "devbox-bridged";
/** Services in the order of their stop. Chroma keeps running: only the broker uses it, and a copy waits for Chroma's last write. */
const ORDER = ["devbox", BRIDGED, "broker"];
const GRACE_SECONDS = 60;

export async function drain(room: Room, given: Job): Promise<Job> {
  const { engine, stack, state } = room;
  const job = writeJob(state, await withBridged(room, given));
  await stopWriters(room);
  const there = new Set((await boxesOf(engine, stack.project)).map(({ id }) => id));
  const endedAt: Record<string, string> = {};
  for (const { id } of job.old.filter((box) => there.has(box.id)))
    endedAt[id] = (await engine.getContainer(id).inspect()).State.FinishedAt;
  return writeJob(state, { ...job, endedAt });
}

/** Returns a job without a state file, for a copy or a restore: the containers to stop and to start again. */
export async function currentJob(room: Pick<Room, "engine" | "stack">): Promise<Job> {
  return withBridged(room, newJob(await oldBoxes(room), false));
}

/** Adds the running containers of `devbox-bridged` to the containers that a killed run has already stopped. */
export async function withBridged({ engine, stack }: Pick<Room, "engine" | "stack">, job: Job): Promise<Job> {
  const boxes = await boxesOf(engine, stack.project);
  const running = boxes.filter(({ service, isRunning }) => service === BRIDGED && isRunning).map(({ id }) => id);
  return { ...job, bridged: [...new Set([...(job.bridged ?? []), ...running])] };
}

/** Starts the stopped containers of `devbox-bridged` again. Only logs a failure, because the stack itself runs without them. */
export async function startBridged({ engine, log }: Room, { bridged = [] }: Job): Promise<void> {
  for (const id of bridged) {
    log(`starting ${BRIDGED} again ...`);
    await unlessMissing(engine.getContainer(id).start()).catch((error: { statusCode?: number }) => {
      if (error.statusCode !== 304) log(`${BRIDGED} does not start: ${String(error)}; docker compose up -d ${BRIDGED}`);
    });
  }
}

export async function stopWriters({ engine, stack, log }: Pick<Room, "engine" | "stack" | "log">): Promise<void> {
  const boxes = await boxesOf(engine, stack.project);
  for (const service of ORDER)
    for (const { id } of boxes.filter((box) => box.service === service && box.isRunning)) {
      log(`stopping ${service} ...`);
      await engine.getContainer(id).stop({ t: GRACE_SECONDS });
    }
}

/** Returns true if an old container has run since `drain` stopped it, because it may have written again. */
export async function hasRunSince({ engine, stack }: Room, { old, endedAt }: Job): Promise<boolean> {
  const there = new Set((await boxesOf(engine, stack.project)).map(({ id }) => id));
  for (const { id } of old.filter((box) => there.has(box.id) && ORDER.includes(box.service))) {
    const { State } = await engine.getContainer(id).inspect();
    if (State.Running || State.FinishedAt !== endedAt[id]) return true;
  }
  return false;
}

/** Starts the old containers again, after a recreate that made no new containers. Returns false if an old container is missing. */
export async function startOld(room: Room, job: Job): Promise<boolean> {
  const { engine, stack, old } = { ...room, ...job };
  const there = new Map((await boxesOf(engine, stack.project)).map((box) => [box.id, box]));
  for (const service of ["chroma", "broker", "devbox"])
    for (const { id } of old.filter((box) => box.service === service))
      if (there.get(id)?.isRunning === false) await engine.getContainer(id).start();
  await startBridged(room, job);
  return old.every(({ id }) => there.has(id));
}
