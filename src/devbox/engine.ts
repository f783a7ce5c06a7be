/** Connects to the Docker daemon that the `docker` command uses. Loads the library dockerode only when needed. */
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { EventEmitter } from "node:events";
import { promisify } from "node:util";
import type Docker from "dockerode";
import type { Env } from "../config/env.ts";
import { PalaceError } from "../base/errors.ts";
import { noDocker } from "./compose.ts";

export type Engine = Docker;

const ANSWER_MAX_MS = 30_000;
const ADDRESS = ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"];

/** Errors: CONFIG_USAGE if Docker does not answer. */
export async function openEngine(env: Env): Promise<Engine> {
  try {
    const { stdout } = await promisify(execFile)("docker", ADDRESS, { env, timeout: ANSWER_MAX_MS });
    const engine = await connectEngine(stdout.trim());
    await engine.ping();
    return engine;
  } catch (error) {
    throw noDocker(error);
  }
}

export async function connectEngine(address: string): Promise<Engine> {
  const { default: Client } = await import("dockerode");
  unsubscribe(REQUESTS, failCutAnswer);
  subscribe(REQUESTS, failCutAnswer);
  return new Client(addressOptions(address));
}

/** Node's diagnostics channel for the HTTP requests of this process. */
const REQUESTS = "http.client.request.start";

/** Passes an answer's error on to its request. Otherwise dockerode would wait forever, and Node would exit in the middle of the work. */
function failCutAnswer(begun: unknown): void {
  const { request } = begun as { request: EventEmitter };
  request.once("response", (response: EventEmitter) =>
    response.once("error", (error) => request.listenerCount("error") > 0 && request.emit("error", error)),
  );
}

const LOST = ["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ERR_STREAM_PREMATURE_CLOSE"];

/** Returns an error to show if the connection to Docker was lost, else undefined. `next`: hint for finishing the work. */
export function lostEngine(error: unknown, next: string): PalaceError | undefined {
  const { code = "", syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (!LOST.includes(code) && !(code === "ENOENT" && syscall === "connect")) return undefined;
  return new PalaceError(
    "TRANSPORT_CLOSED",
    "the Docker engine does not answer any more",
    `start Docker again (docker info says what is wrong); ${next}`,
    { cause: error },
  );
}

/** Returns the options for dockerode. For TCP, dockerode itself reads the certificates from the environment. */
export function addressOptions(address: string): Docker.DockerOptions {
  const [, local] = /^(?:unix|npipe):\/\/(.+)$/.exec(address) ?? [];
  if (local !== undefined) return { socketPath: local };
  const { protocol, hostname, port, username } = new URL(address);
  if (protocol === "ssh:") return { protocol: "ssh", host: hostname, port: port || 22, username };
  return { host: hostname, port, protocol: protocol === "https:" || port === "2376" ? "https" : "http" };
}

/** Container of the stack. `folder`: the folder in which compose made it. */
export type Box = Readonly<{
  id: string;
  name: string;
  service: string;
  folder: string;
  isRunning: boolean;
  imageId: string;
}>;

export const PROJECT = "com.docker.compose.project";

/** Returns all containers of a project except the containers of `compose run`. A scaled service has several containers. */
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
  return (await unlessMissing(engine.getVolume(name).inspect())) !== undefined;
}

/** Returns undefined if the requested object does not exist (status 404). */
export function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: { statusCode?: number }) => {
    if (error.statusCode === 404) return undefined;
    throw error;
  });
}
