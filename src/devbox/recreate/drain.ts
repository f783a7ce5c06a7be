/** Stops every container that can write, first those with agents. The broker answers accepted calls before it ends. */
import { boxesOf } from "../engine.ts";
import { type Job, writeJob } from "./job.ts";
import type { Room } from "./room.ts";

/** Services in the order of their stop. Chroma keeps running: only the broker uses it, and a copy waits for Chroma's last write. */
const ORDER = ["devbox", "devbox-bridged", "broker"];
const GRACE_SECONDS = 60;

export async function drain(room: Room, job: Job): Promise<Job> {
  const { engine, stack, state } = room;
  await stopWriters(room);
  const there = new Set((await boxesOf(engine, stack.project)).map(({ id }) => id));
  const endedAt: Record<string, string> = {};
  for (const { id } of job.old.filter((box) => there.has(box.id)))
    endedAt[id] = (await engine.getContainer(id).inspect()).State.FinishedAt;
  return writeJob(state, { ...job, endedAt });
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
export async function startOld({ engine, stack }: Room, { old }: Job): Promise<boolean> {
  const there = new Map((await boxesOf(engine, stack.project)).map((box) => [box.id, box]));
  for (const service of ["chroma", "broker", "devbox"])
    for (const { id } of old.filter((box) => box.service === service))
      if (there.get(id)?.isRunning === false) await engine.getContainer(id).start();
  return old.every(({ id }) => there.has(id));
}
