/** One devbox container of the grid: home and palace on volumes of its own, so that it can be killed and made again. */
import { execa } from "execa";
import { openStdioMcp, type StdioMcp } from "../../../src/bin/proof/stdio-mcp.ts";
import { dockerName, sweepLeftovers } from "../../helpers/docker-run.ts";
import { shimCommand } from "./install.ts";
import { MCP_CONFIG } from "./world.ts";

// Of this process: another run builds other sources.
const IMAGE_PROJECT = dockerName("grid");
const IMAGE = `${IMAGE_PROJECT}-devbox`;
const CALL_TIMEOUT_MS = 120_000;
const PAUSE_TRIES = 10;

export type Box = AsyncDisposable & {
  readonly name: string;
  exec(...command: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  agent(): Promise<StdioMcp>;
  disconnect(): Promise<void>;
  connect(): Promise<void>;
  pause(): Promise<void>;
  unpause(): Promise<void>;
  killAndRecreate(): Promise<void>;
};

/** `name` is unique within the process. */
export type BoxOptions = { name: string; env?: Record<string, string>; volumes?: readonly string[] };

const docker = async (...args: string[]): Promise<string> => (await execa("docker", args)).stdout;

/** The image, built from the Dockerfile as compose builds it. */
export async function buildImage(): Promise<void> {
  await sweepLeftovers();
  await execa("docker", ["compose", "build", "devbox"], { env: { COMPOSE_PROJECT_NAME: IMAGE_PROJECT } });
}

/** The engine gives up on a container that starts processes all the time on a busy machine ("unable to freeze"): once more then. */
async function pause(name: string): Promise<void> {
  for (let left = PAUSE_TRIES; ; left--)
    try {
      await docker("pause", name);
      return;
    } catch (error) {
      if (left <= 1 || !String(error).includes("unable to freeze")) throw error;
    }
}

export async function openBox({ name: title, env = {}, volumes = [] }: BoxOptions): Promise<Box> {
  const name = dockerName(title);
  const options = [
    ...["--name", name, "--hostname", name, "--init", "--network", `${name}-net`],
    ...["--add-host", "host.docker.internal:host-gateway"],
    ...["--volume", `${name}-home:/home/developer`],
    // A folder of its own for sockets: the image's is for a volume shared with a broker.
    ...["--env", "XDG_RUNTIME_DIR=", "--env", "MEMPALACE_OFFLINE=1", "--env", "MEMPALACE_IDLE_EXIT_MINUTES=0"],
    ...volumes.flatMap((volume) => ["--volume", volume]),
    ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
  ];
  const run = async (): Promise<void> => {
    await docker("run", "--detach", ...options, IMAGE);
    await execa("docker", ["exec", "-i", name, "sh", "-c", "cat > ~/mcp.json"], { input: MCP_CONFIG });
  };
  const exec: Box["exec"] = async (...command) => {
    const done = await execa("docker", ["exec", name, ...command], { reject: false });
    return { exitCode: done.exitCode ?? -1, stdout: done.stdout, stderr: done.stderr };
  };
  await docker("network", "create", `${name}-net`);
  await run();
  return {
    name,
    exec,
    agent: async () => {
      const { stdout } = await exec("sh", "-c", "cat ~/mcp.json");
      return openStdioMcp(["docker", "exec", "-i", name, ...shimCommand(stdout)], {
        env: process.env,
        timeoutMs: CALL_TIMEOUT_MS,
      });
    },
    disconnect: async () => void (await docker("network", "disconnect", `${name}-net`, name)),
    connect: async () => void (await docker("network", "connect", `${name}-net`, name)),
    pause: () => pause(name),
    unpause: async () => void (await docker("unpause", name)),
    killAndRecreate: async () => {
      await docker("kill", "--signal", "KILL", name);
      await docker("rm", "--force", name);
      await run();
    },
    [Symbol.asyncDispose]: async () => {
      await execa("docker", ["rm", "--force", "--volumes", name], { reject: false });
      await execa("docker", ["network", "rm", `${name}-net`], { reject: false });
      await execa("docker", ["volume", "rm", "--force", `${name}-home`], { reject: false });
    },
  };
}
