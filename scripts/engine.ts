/** Checks for a Docker engine that can run our compose file. */
import { spawnSync } from "node:child_process";
import type { Env } from "../src/config/env.ts";

const ANSWER_TIMEOUT_MS = 30_000;

/** Returns undefined if Docker with compose answers, otherwise the reason. */
export function engineMissing(env: Env): string | undefined {
  const answers = (...args: string[]): boolean =>
    spawnSync("docker", args, { env, stdio: "ignore", timeout: ANSWER_TIMEOUT_MS }).status === 0;
  if (!answers("info")) return "no Docker engine answers `docker info`";
  if (!answers("compose", "version")) return "this docker has no compose plugin";
  return undefined;
}
