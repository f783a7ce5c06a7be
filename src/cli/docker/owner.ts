/**
 * Runs a verb as the memory's owner through the broker's Docker container, because anyone who may use Docker is the owner. Agents use the
 * bridge's own process instead, and so have only the role agent.
 */
import { execFile, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { NO_CONTAINER_HINT } from "../../wire/bridge/docker-exec.ts";
import { openOwnerWay } from "../../wire/bridge/owner-socket.ts";
import { readSettings } from "../../wire/bridge/settings.ts";
import { ensureBroker } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError, unavailable } from "../../base/errors.ts";
import { START_TIMEOUT_MS } from "../../protocol/limits.ts";

const SAID_MAX_CHARS = 2_000;
const POLL_MS = 200;

/** `options`: the options of `docker` that select its Docker daemon. */
export type BrokerBox = Readonly<{ container: string; options: readonly string[] }>;

/** Returns the container whose broker this command line uses; undefined if it uses another broker. */
export function brokerBox({ endpoint, paths }: Config): BrokerBox | undefined {
  const settings = endpoint === undefined ? readSettings(paths) : undefined;
  if (settings?.kind !== "docker") return undefined;
  return { container: settings.host, options: settings.dockerOptions ?? [] };
}

/** Runs a verb through the broker's container if there is one, else as usual. Errors: as openOwnerWay and `run`. */
export async function asOwner<C extends { config: Config }, Result>(
  call: C,
  run: (call: C) => Promise<Result>,
): Promise<Result> {
  const { config } = call;
  const settings = brokerBox(config) && readSettings(config.paths);
  if (settings === undefined) return run(call);
  const way = await openOwnerWay(settings);
  try {
    return await run({ ...call, config: { ...config, paths: { ...config.paths, bridgeSocketPath: way.socketPath } } });
  } finally {
    way.close();
  }
}

/** Runs a command of `docker` and returns the one line that it prints. Errors: STORE_UNAVAILABLE with docker's message. */
export async function askDocker({ container, options }: BrokerBox, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)("docker", [...options, ...args])).stdout.trim();
  } catch (error) {
    const { stderr = "", message } = error as { stderr?: string; message: string };
    const said = stderr.trim().split("\n").at(-1) || message;
    const isMissing = /no such (?:object|container)/i.test(said);
    const why = isMissing ? `there is no container ${container}` : `docker ${args[0] ?? ""} failed: ${said}`;
    const hint = isMissing ? NO_CONTAINER_HINT : "docker ps --all";
    throw unavailable(why, hint, error);
  }
}

/** Errors: STORE_UNAVAILABLE if the container or Docker is missing. */
export async function isBoxRunning(box: BrokerBox): Promise<boolean> {
  return (await askDocker(box, ["inspect", "--format", "{{.State.Running}}", box.container])) === "true";
}

/** Stops the container. Its broker drains first, and Docker does not start it again. Errors: STORE_UNAVAILABLE. */
export async function stopBox(box: BrokerBox): Promise<{ stopped: boolean; staysOff: true }> {
  const stopped = await isBoxRunning(box);
  if (stopped) await askDocker(box, ["stop", box.container]);
  return { stopped, staysOff: true };
}

/** Waits for the container's broker, because Docker may be restarting it. Errors: the last connection error. */
export async function untilServed(config: Config): Promise<Awaited<ReturnType<typeof ensureBroker>>> {
  for (const deadline = performance.now() + START_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    try {
      return await ensureBroker(config);
    } catch (error) {
      const isWay = error instanceof PalaceError && error.code.startsWith("TRANSPORT_");
      if (!isWay || performance.now() > deadline) throw error;
    }
  }
}

/** Yields a command's stdout; a caller that stops reading ends the command. Errors: STORE_UNAVAILABLE with the end of its stderr. */
export async function* outputOf({ options }: BrokerBox, args: readonly string[]): AsyncGenerator<Uint8Array> {
  const child = spawn("docker", [...options, ...args], { stdio: ["ignore", "pipe", "pipe"], detached: true });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-SAID_MAX_CHARS)));
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", (error) => ((said = error.message), resolve(null))).on("close", resolve);
  });
  try {
    for await (const piece of child.stdout) yield piece as Buffer;
    if ((await ended) === 0) return;
    const why = said.trim().split("\n").at(-1) || "it ended";
    throw unavailable(`the copy from the container ended early: ${why}`, "repeat the command");
  } finally {
    child.kill();
  }
}
