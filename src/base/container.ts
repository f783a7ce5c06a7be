import { existsSync } from "node:fs";

export function isInContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}
