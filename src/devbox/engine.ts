/**
 * The Docker engine that `docker` itself would ask, through its own API: contexts and DOCKER_HOST mean here what they mean there.
 * dockerode is loaded when it is needed, because every other verb does without.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type Docker from "dockerode";
import type { Env } from "../config/env.ts";
import { noDocker } from "./compose.ts";

export type Engine = Docker;

const ANSWER_MAX_MS = 30_000;
const ADDRESS = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];

/** Errors: CONFIG_USAGE where none answers. */
export async function openEngine(env: Env): Promise<Engine> {
  try {
    const { stdout } = await promisify(execFile)("docker", ADDRESS, { env, timeout: ANSWER_MAX_MS });
    const { default: Client } = await import("dockerode");
    const engine = new Client(addressOptions(stdout.trim()));
    await engine.ping();
    return engine;
  } catch (error) {
    throw noDocker(error);
  }
}

/** For an engine behind TCP the certificates are those of the environment, which the client reads itself. */
export function addressOptions(address: string): Docker.DockerOptions {
  const [, local] = /^(?:unix|npipe):\/\/(.+)$/.exec(address) ?? [];
  if (local !== undefined) return { socketPath: local };
  const { protocol, hostname, port, username } = new URL(address);
  if (protocol === "ssh:") return { protocol: "ssh", host: hostname, port: port || 22, username };
  return { host: hostname, port, protocol: protocol === "https:" || port === "2376" ? "https" : "http" };
}

/** What a container of the stack is, as far as anybody here asks. */
export type Box = Readonly<{
  id: string;
  name: string;
  service: string;
  folder: string;
  isRunning: boolean;
  imageId: string;
}>;

const PROJECT = "com.docker.compose.project";

/** All containers of a project but those of `compose run`; services that were scaled have several. */
export async function boxesOf(engine: Engine, project: string): Promise<Box[]> {
  const found = await engine.listContainers({ all: true, filters: { label: [`${PROJECT}=${project}`] } });
  return found
    .filter(({ Labels }) => Labels["com.docker.compose.oneoff"] !== "True")
    .map(({ Id, Names, Labels, State, ImageID }) => ({
      id: Id,
      name: (Names[0] ?? "").replace(/^\//, ""),
      service: Labels["com.docker.compose.service"] ?? "",
      folder: Labels["com.docker.compose.project.working_dir"] ?? "",
      isRunning: State === "running",
      imageId: ImageID,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function hasVolume(engine: Engine, name: string): Promise<boolean> {
  try {
    await engine.getVolume(name).inspect();
    return true;
  } catch (error) {
    if (statusOf(error) === 404) return false;
    throw error;
  }
}

/** The HTTP status of an engine's refusal. */
export function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number }).statusCode;
}
