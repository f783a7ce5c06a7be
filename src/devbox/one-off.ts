/** Runs a program in a temporary container with the stack's volumes, to read or copy data while the stack is stopped. */
import { type Duplex, PassThrough, type Readable, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type Docker from "dockerode";
import { type PalaceError, unavailable } from "../base/errors.ts";
import { type Engine, PROJECT } from "./engine.ts";

export type Program = Readonly<{
  imageId: string;
  command: readonly string[];
  env?: readonly string[];
  user?: string;
  host: Docker.HostConfig;
  stdin?: Readable;
  stdout: Writable;
}>;

export type Ended = Readonly<{ code: number; said: string }>;

/** Label of our containers; finds the containers that a killed run left. */
const LABEL = "palace-devbox.one-off";
const SAID_MAX = 16_384;

/** Returns options for a program that runs as root, without a network, and only with the given capabilities. */
export function asRoot(
  imageId: string,
  mounts: NonNullable<Docker.HostConfig["Mounts"]>,
  capabilities: string[],
): Pick<Program, "imageId" | "user" | "host"> {
  const shut = { NetworkMode: "none", Init: true, ReadonlyRootfs: true, SecurityOpt: ["no-new-privileges:true"] };
  return { imageId, user: "0:0", host: { Mounts: mounts, ...shut, CapDrop: ["ALL"], CapAdd: capabilities } };
}

/** Runs the program to its end and ends `stdout`. `said` in the result is the end of its stderr. */
export async function runOneOff(engine: Engine, project: string, program: Program): Promise<Ended> {
  const { imageId, command, env = [], user, host, stdin, stdout } = program;
  const isFed = stdin !== undefined;
  const container = await engine.createContainer({
    Image: imageId,
    Entrypoint: command.slice(0, 1),
    Cmd: command.slice(1),
    Env: [...env],
    ...(user !== undefined && { User: user }),
    ...{ AttachStdout: true, AttachStderr: true, AttachStdin: isFed, OpenStdin: isFed, StdinOnce: isFed },
    // The image has compose's labels of a service. With this label, compose and we do not take the container for that service.
    Labels: { [LABEL]: project, "com.docker.compose.oneoff": "True" },
    Healthcheck: { Test: ["NONE"] },
    // Docker must not keep a copy of the output, which may be secret.
    HostConfig: { ...host, LogConfig: { Type: "none", Config: {} } },
  });
  try {
    const stream = await container.attach({ stream: true, hijack: isFed, stdin: isFed, stdout: true, stderr: true });
    const heard = new PassThrough();
    let said = "";
    heard.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-SAID_MAX)));
    engine.modem.demuxStream(stream, stdout, heard);
    // demuxStream ignores a full output buffer. Without this pause, a large home would fill the memory if the disk is slow.
    stream.on("data", () => stdout.writableNeedDrain && stream.pause());
    stdout.on("drain", () => stream.resume());
    const broken = new Promise<never>((_, failed) => stdout.once("error", failed));
    // Docker cannot end a container whose output nobody reads, and would never answer the removal below.
    broken.catch(() => (stream as Duplex).destroy());
    const ended = finished(stream, { writable: false });
    // Prevents an unhandled rejection if the connection or the output fails at this moment. `start` or the wait below reports the error.
    for (const lost of [broken, ended]) lost.catch(() => undefined);
    await container.start();
    stdin?.pipe(stream);
    const waited = Promise.all([container.wait() as Promise<{ StatusCode: number }>, ended]);
    // A write error of the output ends the wait, and `finally` removes the container: its program may hold the memory's lock.
    const [{ StatusCode }] = await Promise.race([waited, broken]);
    stdout.end();
    return { code: StatusCode, said: said.trim() };
  } catch (error) {
    // The caller gets the error. Without this listener, the same error of the stream would end the process.
    stdout.once("error", () => undefined).destroy(error as Error);
    throw error;
  } finally {
    await container.remove({ force: true, v: true }).catch(() => undefined);
  }
}

/** Runs a program with little output and returns that output. Errors: STORE_UNAVAILABLE with the program's message. */
export async function askOneOff(engine: Engine, project: string, program: Omit<Program, "stdout">): Promise<string> {
  const { stdout, text } = collector();
  const { code, said } = await runOneOff(engine, project, { ...program, stdout });
  if (code === 0) return text();
  throw lookFailed(said, code);
}

/** Runs a command in a running container of the stack. Errors: STORE_UNAVAILABLE with the command's message. */
export async function askInside(engine: Engine, containerId: string, command: readonly string[]): Promise<string> {
  const options = { Cmd: [...command], AttachStdout: true, AttachStderr: true };
  const exec = await engine.getContainer(containerId).exec(options);
  const stream = await exec.start({});
  const [{ stdout, text }, heard] = [collector(), collector()];
  engine.modem.demuxStream(stream, stdout, heard.stdout);
  await finished(stream, { writable: false });
  const { ExitCode } = await exec.inspect();
  if (ExitCode === 0) return text();
  throw lookFailed(heard.text(), ExitCode);
}

/** Returns the size of a folder in a running container, bytes; undefined if the size cannot be measured. Errors: as askInside. */
export async function sizeInside(engine: Engine, containerId: string, path: string): Promise<number | undefined> {
  const said = await askInside(engine, containerId, ["sh", "-c", `du -sk ${path} 2>/dev/null || true`]);
  const kilobytes = Number.parseInt(said, 10);
  return Number.isNaN(kilobytes) ? undefined : kilobytes * 1024;
}

function collector(): { stdout: PassThrough; text: () => string } {
  const stdout = new PassThrough();
  const pieces: Buffer[] = [];
  stdout.on("data", (piece: Buffer) => pieces.push(piece));
  return { stdout, text: () => Buffer.concat(pieces).toString("utf8") };
}

function lookFailed(said: string, code: number | null): PalaceError {
  const [line = ""] = said.trim().split("\n").slice(-1);
  return unavailable(`a check of the stack failed (exit ${code}): ${line}`, "docker compose logs");
}

/** Removes our containers of killed runs, and those that a killed compose made to replace others: their names would stop the next compose. */
export async function sweepOneOffs(engine: Engine, project: string): Promise<void> {
  const left = await engine.listContainers({ all: true, filters: { label: [`${LABEL}=${project}`] } });
  const filters = { label: [`${PROJECT}=${project}`], status: ["created"] };
  const isReplacing = new RegExp(`^/[0-9a-f]{12}_${project}[-_]`);
  const created = await engine.listContainers({ all: true, filters });
  for (const one of [...left, ...created.filter(({ Names: [name = ""] }) => isReplacing.test(name))]) {
    const isOurs = left.includes(one);
    const container = engine.getContainer(one.Id);
    await container.remove({ force: isOurs, v: isOurs }).catch(() => undefined);
  }
}
