/** The compose stack of this package, as `docker` is told of it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Env } from "../../config/env.ts";
import { PalaceError } from "../../protocol/errors.ts";

/** `docker` and its arguments up to the compose command. `root` is the folder of docker-compose.yml. */
export function composeCommand(root: string): string[] {
  return ["docker", "compose", "--project-directory", root, "--file", join(root, "docker-compose.yml")];
}

/** The name of the running stack's broker container; it stays the same when that is made anew. Errors: BROKER_START_FAILED. */
export async function brokerContainer(root: string, env: Env): Promise<string> {
  const [docker = "", ...compose] = composeCommand(root);
  const { stdout } = await promisify(execFile)(docker, [...compose, "ps", "--format", "{{.Name}}", "broker"], { env });
  const [name = ""] = stdout.trim().split("\n");
  if (name !== "") return name;
  throw new PalaceError("BROKER_START_FAILED", "the stack runs without a broker", "docker compose logs broker");
}
