/** The compose stack of this package, as `docker` is told of it. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv, promisify } from "node:util";
import type { Env } from "../../config/env.ts";
import { PalaceError } from "../../protocol/errors.ts";

/**
 * `docker` and its arguments up to the compose command. `root` is the folder of docker-compose.yml; the arrangement is the one that
 * COMPOSE_FILE chooses, here or in `.env` there, as for a plain `docker compose`.
 */
export function composeCommand(root: string, { COMPOSE_FILE: chosen }: Env): string[] {
  const files = (chosen ?? noted(root) ?? "docker-compose.yml").split(":").filter(Boolean);
  return [
    "docker",
    "compose",
    "--project-directory",
    root,
    ...files.flatMap((file) => ["--file", resolve(root, file)]),
  ];
}

function noted(root: string): string | undefined {
  try {
    return parseEnv(readFileSync(join(root, ".env"), "utf8"))["COMPOSE_FILE"];
  } catch {
    return undefined;
  }
}

/** The name of the running stack's broker container; it stays the same when that is made anew. Errors: BROKER_START_FAILED. */
export async function brokerContainer(root: string, env: Env): Promise<string> {
  const [docker = "", ...compose] = composeCommand(root, env);
  const { stdout } = await promisify(execFile)(docker, [...compose, "ps", "--format", "{{.Name}}", "broker"], { env });
  const [name = ""] = stdout.trim().split("\n");
  if (name !== "") return name;
  throw new PalaceError(
    "BROKER_START_FAILED",
    "the stack runs without a broker of its own",
    "look whether it should have one (docker compose config --services), then: docker compose logs",
  );
}
