/** Returns true in a container: Docker and Podman each leave a file at the container's root. */
import { existsSync } from "node:fs";

export function isInContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}
