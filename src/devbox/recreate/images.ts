/** Keeps the stack's old images under a separate tag until the next recreate, and gives them their usual names again for a rollback. */
import { type Service, SERVICES } from "../compose.ts";
import { boxesOf, type Engine, unlessMissing } from "../engine.ts";
import type { Job, OldBox } from "./job.ts";
import type { Room } from "./room.ts";

const KEPT = "before-recreate";

/** Returns the present containers with their images. */
export async function oldBoxes({ engine, stack }: Pick<Room, "engine" | "stack">): Promise<OldBox[]> {
  const boxes = await boxesOf(engine, stack.project);
  return boxes.flatMap(({ id, service, imageId }) => {
    const known = SERVICES.find((name) => name === service);
    return known === undefined ? [] : [{ id, service: known, imageId }];
  });
}

/** Tags the old images for a rollback. Removes the images that the last recreate kept, unless they are used. */
export async function keepImages({ engine, stack }: Room, job: Job): Promise<void> {
  for (const [service, imageId] of imagesOf(job)) {
    const { repo } = split(stack.images[service]);
    const before = (await unlessMissing(engine.getImage(`${repo}:${KEPT}`).inspect()))?.Id;
    await engine.getImage(imageId).tag({ repo, tag: KEPT });
    if (before !== undefined && before !== imageId) await removeUnused(engine, before);
  }
}

/** Gives the old images the names that compose uses, so that compose starts them again. */
export async function putImagesBack({ engine, stack }: Room, job: Job): Promise<void> {
  for (const [service, imageId] of imagesOf(job)) await engine.getImage(imageId).tag(split(stack.images[service]));
}

export function imagesOf({ old }: Job): Map<Service, string> {
  return new Map(old.map(({ service, imageId }) => [service, imageId]));
}

/** Removes an image. Docker keeps an image that has another name or a container. */
async function removeUnused(engine: Engine, imageId: string): Promise<void> {
  await engine
    .getImage(imageId)
    .remove()
    .catch(() => undefined);
}

/** Splits an image's name at its last colon, unless that colon belongs to a registry's port (`host:5000/image`). */
export function split(image: string): { repo: string; tag: string } {
  const at = image.lastIndexOf(":");
  return at > image.lastIndexOf("/")
    ? { repo: image.slice(0, at), tag: image.slice(at + 1) }
    : { repo: image, tag: "latest" };
}
