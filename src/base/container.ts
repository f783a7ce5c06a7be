/** Returns true in a container: Docker and Podman leave these files there. */
import { existsSync } from "node:fs";

export function isInContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}
