/** Makes new containers from the images that the stack's image tags name now, and waits until the containers are healthy. */
import { type Place, runCompose } from "../compose.ts";
import { boxesOf } from "../engine.ts";
import { type Job } from "./job.ts";
import type { Room } from "./room.ts";

const WAIT_MAX_SECONDS = 300;

/** Returns undefined on success, else the output of the failed compose. */
export async function switchOver(room: Room, job: Job): Promise<string | undefined> {
  const { engine, stack, place } = room;
  const there = new Set((await boxesOf(engine, stack.project)).map(({ id }) => id));
  // If no old container exists, a killed run has already made the new ones, and compose need not replace them.
  const isAnew = job.old.some(({ id }) => there.has(id));
  const scale = job.old.filter(({ service }) => service === "devbox").length;
  const scaled = scale > 1 ? ["--scale", `devbox=${scale}`] : [];
  const wait = ["--wait", "--wait-timeout", String(WAIT_MAX_SECONDS)];
  const args = [
    "up",
    "-d",
    "--no-build",
    ...(isAnew ? ["--force-recreate"] : []),
    ...wait,
    ...scaled,
    ...stack.services,
  ];
  room.log("starting the containers ...");
  return runCompose(place satisfies Place, args, room);
}
