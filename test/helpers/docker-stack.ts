/** Runs the real compose stack under its own project name, volumes and images, and removes all of them when it is disposed of. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { ROOT } from "../../scripts/main.ts";
import { openStdioMcp, type StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { dockerName, sweepLeftovers } from "./docker-run.ts";
import { writeTinyModel } from "./tiny-model.ts";

export type Output = { exitCode: number; stdout: string; stderr: string };

export type DockerStack = AsyncDisposable & {
  readonly project: string;
  /** Runs `docker compose ARGS`. Throws with the output if the command fails. */
  compose: (...args: string[]) => Promise<string>;
  composeWith: (env: Record<string, string>, ...args: string[]) => Promise<string>;
  /** Runs a command in container `index` of a service. Resolves to its output even if the command fails. */
  exec: (service: string, index: number, ...command: string[]) => Promise<Output>;
  inspect: (service: string, index?: number) => Promise<Inspected>;
  /** Sends SIGKILL to the first container of a service. */
  kill: (service: string) => Promise<void>;
  shim: (index: number) => Promise<StdioMcp>;
};

export type Inspected = {
  Config: { Labels: Record<string, string>; User: string };
  HostConfig: { PortBindings: Record<string, unknown>; ReadonlyRootfs: boolean };
  NetworkSettings: { Ports: Record<string, unknown>; Networks: Record<string, { IPAddress: string }> };
  State: { StartedAt: string; Health?: { Status: string } };
};

/** Number of devbox containers: two writers and one reader. */
export const DEVBOXES = 3;

const COMMAND_TIMEOUT_MS = 15 * 60_000;
const CALL_TIMEOUT_MS = 3 * 60_000;
const LOG_TAIL_LINES = 60;

/** Returns the value that COMPOSE_FILE has in .env for an arrangement (docs/topologies/arrangements.md). */
export function composeFiles(...arrangement: string[]): string {
  const more = arrangement.map((name) => join("scripts/compose", `${name}.yml`));
  return ["docker-compose.yml", ...more].map((file) => join(ROOT, file)).join(":");
}

/** `arrangement`: name from docs/topologies/arrangements.md. `isModelTiny`: for tests with many drawers that do not search by meaning. */
export type StackOptions = { arrangement?: string; isModelTiny?: boolean };

/** Starts the stack. Its devboxes mount the project folder `workspace`. */
export async function openStack(workspace: string, options: StackOptions = {}): Promise<DockerStack> {
  const arrangement = options.arrangement === undefined ? [] : [options.arrangement];
  await sweepLeftovers();
  const folder = await mkdtemp(join(tmpdir(), "palace-stack-"));
  const project = dockerName(randomBytes(4).toString("hex"));
  const env = {
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_FILE: composeFiles(...arrangement),
    DEVBOX_WORKSPACE: workspace,
    // Sets the variables here, so that a .env of this clone has no effect.
    DEVBOX_UID: "1000",
    DEVBOX_GID: "1000",
    MEMPALACE_MODEL_DIR: modelFolder(folder, options.isModelTiny === true),
    MEMPALACE_OFFLINE: "1",
  };
  const base = ["compose", "--project-directory", ROOT];
  const docker = async (args: readonly string[], more: Record<string, string> = {}): Promise<Output> => {
    const done = await execa("docker", args, {
      env: more,
      reject: false,
      stdin: "ignore",
      timeout: COMMAND_TIMEOUT_MS,
    });
    return { exitCode: done.exitCode ?? -1, stdout: done.stdout, stderr: done.stderr };
  };
  const run = (extra: Record<string, string>, ...args: string[]): Promise<Output> =>
    docker([...base, ...args], { ...env, ...extra });
  const composeWith = async (extra: Record<string, string>, ...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await run(extra, ...args);
    if (exitCode === 0) return stdout;
    const logs = await run({}, "logs", "--no-color", "--tail", String(LOG_TAIL_LINES));
    throw new Error(`docker compose ${args.join(" ")}: exit ${exitCode}\n${stderr}\n${logs.stdout}`);
  };
  const compose = (...args: string[]): Promise<string> => composeWith({}, ...args);
  return {
    project,
    compose,
    composeWith,
    // `docker exec` starts much faster than `docker compose exec`, and uses the same user, folder and environment.
    exec: (service, index, ...command) => docker(["exec", `${project}-${service}-${index}`, ...command]),
    inspect: async (service, index = 1) => {
      const { stdout } = await execa("docker", ["inspect", `${project}-${service}-${index}`]);
      return (JSON.parse(stdout) as [Inspected])[0];
    },
    kill: async (service) => void (await execa("docker", ["kill", "--signal", "KILL", `${project}-${service}-1`])),
    shim: (index) =>
      openStdioMcp(["docker", "exec", "-i", `${project}-devbox-${index}`, "mp-shim"], {
        env: process.env,
        timeoutMs: CALL_TIMEOUT_MS,
      }),
    [Symbol.asyncDispose]: async () => {
      await compose("down", "--volumes", "--remove-orphans", "--rmi", "local", "--timeout", "5");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the folder of the real model if it is beside the clone. Otherwise, or with `isTiny`, makes a tiny model. */
function modelFolder(folder: string, isTiny: boolean): string {
  const real = join(ROOT, "..", "shared", "models", "all-MiniLM-L6-v2");
  if (!isTiny && existsSync(join(real, "tokenizer.json"))) return real;
  const tiny = join(folder, "model");
  writeTinyModel(tiny);
  return tiny;
}
