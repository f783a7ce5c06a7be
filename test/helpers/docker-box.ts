/**
 * Containers of a test's own, through testcontainers, under names that docker-run.ts sweeps after a killed run: the image of
 * testcontainers' own reaper cannot be pulled everywhere. An agent's stdio goes through the command line, as users wire it.
 */
import type Dockerode from "dockerode";
import { execa } from "execa";
import { GenericContainer, getContainerRuntimeClient, Network, type StartedNetwork, Wait } from "testcontainers";
import { openStdioMcp, type StdioMcp } from "../../src/cli/proof/stdio-mcp.ts";
import { dockerName, sweepLeftovers } from "./docker-run.ts";
import { ROOT } from "./palace.ts";

const CALL_TIMEOUT_MS = 120_000;
const STARTUP_MAX_MS = 300_000;
const PAUSE_TRIES = 10;

export type Mount = { source: string; target: string; mode?: "ro" };

/** The engine that `docker` speaks to, for what testcontainers has no word for. */
export async function engine(): Promise<Dockerode> {
  const host = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
  // testcontainers knows the variable, but no contexts.
  process.env["DOCKER_HOST"] ||= (await execa("docker", host)).stdout;
  await sweepLeftovers();
  return (await getContainerRuntimeClient()).container.dockerode;
}

/** By name, also one that compose has made, or one that was made anew. */
export async function containerOf(name: string): Promise<Dockerode.Container> {
  return (await engine()).getContainer(name);
}

/** `title` is unique within the process, as in `dockerName`; the engine's own options are for what has no method here. */
export class NamedContainer extends GenericContainer {
  constructor(image: string, title: string, options: Dockerode.HostConfig = {}) {
    super(image);
    Object.assign(this.hostConfig, { Init: true, ExtraHosts: ["host.docker.internal:host-gateway"], ...options });
    // Running is enough. The images' own health checks ask for a broker, every second where there is none.
    Object.assign(this.createOpts, { Healthcheck: { Test: ["NONE"] } });
    this.withName(dockerName(title)).withWaitStrategy(Wait.forListeningPorts()).withStartupTimeout(STARTUP_MAX_MS);
  }

  override async start(): ReturnType<GenericContainer["start"]> {
    await engine();
    return super.start();
  }
}

export async function startNetwork(name: string): Promise<StartedNetwork> {
  await engine();
  return new Network({ nextUuid: () => name }).start();
}

/** A shim in a container, by its name or id. */
export function openAgent(container: string, command: readonly string[]): Promise<StdioMcp> {
  const argv = ["docker", "exec", "-i", container, ...command];
  return openStdioMcp(argv, { env: process.env, timeoutMs: CALL_TIMEOUT_MS });
}

/** The engine gives up on a container that starts processes all the time on a busy machine ("unable to freeze"): once more then. */
export async function pause(name: string): Promise<void> {
  const container = await containerOf(name);
  for (let left = PAUSE_TRIES; ; left--)
    try {
      return void (await container.pause());
    } catch (error) {
      if (left <= 1 || !String(error).includes("unable to freeze")) throw error;
    }
}

/** The image as compose builds it; resolves to its name. */
export async function buildImage(project: string, service: string): Promise<string> {
  await sweepLeftovers();
  await execa("docker", ["compose", "build", service], { cwd: ROOT, env: { COMPOSE_PROJECT_NAME: project } });
  return `${project}-${service}`;
}
