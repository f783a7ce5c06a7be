/**
 * Makes containers through testcontainers. docker-run.ts knows them by their names and removes them after a killed run, because the image
 * of testcontainers' own reaper cannot be pulled everywhere. A test starts an agent's shim in a container through the `docker` command, as
 * users do.
 */
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

/** Returns a client of the Docker daemon that `docker` uses, for requests that testcontainers does not offer. */
export async function engine(): Promise<Dockerode> {
  const host = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];
  // Sets the variable that testcontainers reads, because testcontainers does not read Docker's contexts.
  process.env["DOCKER_HOST"] ||= (await execa("docker", host)).stdout;
  await sweepLeftovers();
  return (await getContainerRuntimeClient()).container.dockerode;
}

/** Finds a container by its name, even if compose made it or it was recreated. */
export async function containerOf(name: string): Promise<Dockerode.Container> {
  return (await engine()).getContainer(name);
}

/** Container named by `dockerName(title)`. `options`: Docker's options for which testcontainers has no method. */
export class NamedContainer extends GenericContainer {
  constructor(image: string, title: string, options: Dockerode.HostConfig = {}) {
    super(image);
    Object.assign(this.hostConfig, { Init: true, ExtraHosts: ["host.docker.internal:host-gateway"], ...options });
    // Switches off the images' own health checks, which ask for a broker every second even if the container has none.
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

/** Starts a shim in a container, which is given by name or id. */
export function openAgent(container: string, command: readonly string[]): Promise<StdioMcp> {
  const argv = ["docker", "exec", "-i", container, ...command];
  return openStdioMcp(argv, { env: process.env, timeoutMs: CALL_TIMEOUT_MS });
}

export type ExecIn = { input?: string; env?: Record<string, string>; timeout?: number };

/**
 * Runs a command in a container, given by name or id, and returns what it printed. Docker under load can lose the end of a short stdin
 * (containerd issue 4489), and a command that reads its stdin would then wait for ever. So a command without input has no stdin, and a
 * command with input reads from `head`, which knows the number of bytes. A command that takes too long is reported with the processes of
 * its container.
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

/**
 * Pauses a container. On a busy machine Docker fails while the container starts processes or waits for its disk ("unable to freeze"), so this
 * tries again for half a minute.
 */
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

/** Builds the image as compose does, and resolves to its name. */
export async function buildImage(project: string, service: string): Promise<string> {
  await sweepLeftovers();
  await execa("docker", ["compose", "build", service], { cwd: ROOT, env: { COMPOSE_PROJECT_NAME: project } });
  return `${project}-${service}`;
}
