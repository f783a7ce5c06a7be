/** Recognises a container by the files that Docker and Podman create in it. */
import { existsSync } from "node:fs";

export function isInContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}
