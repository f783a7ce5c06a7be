/**
 * Detects whether this process runs in a container, by the files that Docker and Podman leave at a container's root.
 */
import { existsSync } from "node:fs";

export function isInContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}
