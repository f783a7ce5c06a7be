/** Makes containers through testcontainers, without its reaper, whose image cannot be pulled everywhere. */
import { setTimeout as delay } from "node:timers/promises";
import type Dockerode from "dockerode";
import { execa } from "execa";
import { GenericContainer, getContainerRuntimeClient, Network, type StartedNetwork, Wait } from "testcontainers";
import { openStdioMcp, type StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { dockerName, sweepLeftovers } from "./docker-run.ts";
import { ROOT } from "./palace.ts";

const CALL_TIMEOUT_MS = 120_000;
const STARTUP_MAX_MS = 300_000;
const PAUSE_MAX_MS = 30_000;
const PAUSE_WAIT_MS = 200;

export type Mount = { source: string; target: string; mode?: "ro" };

/** Returns a client of the daemon that `docker` uses, for requests that testcontainers does not offer. */
export async function engine(): Promise<Dockerode> {
  const host = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
  // Testcontainers reads this variable but not Docker's contexts.
  process.env["DOCKER_HOST"] ||= (await execa("docker", host)).stdout;
  await sweepLeftovers();
  return (await getContainerRuntimeClient()).container.dockerode;
}

/** Finds a container by its name, even if compose made it. */
export async function containerOf(name: string): Promise<Dockerode.Container> {
  return (await engine()).getContainer(name);
}

/** Container named by `dockerName(title)`. `options` are Docker's, because testcontainers has no method for them. */
export class NamedContainer extends GenericContainer {
  constructor(image: string, title: string, options: Dockerode.HostConfig = {}) {
    super(image);
    Object.assign(this.hostConfig, { Init: true, ExtraHosts: ["host.docker.internal:host-gateway"], ...options });
    // Switches off the images' health checks, which ask for a broker every second even if the container has none.
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

/** Starts a shim in a container, given by name or id, through `docker exec` as users do. */
export function openAgent(container: string, command: readonly string[]): Promise<StdioMcp> {
  const argv = ["docker", "exec", "-i", container, ...command];
  return openStdioMcp(argv, { env: process.env, timeoutMs: CALL_TIMEOUT_MS });
}

export type ExecIn = { input?: string; env?: Record<string, string>; timeout?: number };

/**
 * Runs a command in a container, given by name or id, and returns its output. Under load Docker can lose the end of stdin (containerd issue
 * 4489), so `head` reads exactly the input's bytes and the command cannot wait for ever. After a timeout, the error lists the container's
 * processes.
 */
export async function execIn(container: string, command: readonly string[], options: ExecIn = {}): Promise<string> {
  const { input = "", env = {}, timeout } = options;
  const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const reading = ["sh", "-c", 'head -c "$0" | "$@"', String(Buffer.byteLength(input)), ...command];
  const args = input === "" ? [container, ...command] : ["-i", container, ...reading];
  const done = await execa("docker", ["exec", ...variables, ...args], {
    ...(input === "" ? { stdin: "ignore" } : { input }),
    ...(timeout !== undefined && { timeout }),
    reject: false,
  });
  if (done.timedOut)
    console.log((await execa("docker", ["top", container, "-eo", "pid,ppid,etime,stat,wchan:24,args"])).stdout);
  if (done.failed) throw new Error(`${done.shortMessage}\n${done.stderr}`);
  return done.stdout;
}

/** Pauses a container. Tries for half a minute, because on a busy machine Docker may fail with "unable to freeze". */
export async function pause(name: string): Promise<void> {
  const container = await containerOf(name);
  const deadline = Date.now() + PAUSE_MAX_MS;
  for (;;)
    try {
      return void (await container.pause());
    } catch (error) {
      if (Date.now() > deadline || !String(error).includes("unable to freeze")) throw error;
      await delay(PAUSE_WAIT_MS);
    }
}

/** Builds a service's image with compose, and resolves to the image's name. */
export async function buildImage(project: string, service: string): Promise<string> {
  await sweepLeftovers();
  await execa("docker", ["compose", "build", service], { cwd: ROOT, env: { COMPOSE_PROJECT_NAME: project } });
  return `${project}-${service}`;
}
