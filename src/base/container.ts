/** Returns true in a container of Docker or Podman, each of which leaves a file there. */
import { existsSync } from "node:fs";

export function isInContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}
