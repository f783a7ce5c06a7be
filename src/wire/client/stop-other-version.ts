/**
 * Ends a broker that speaks another protocol. We cannot ask it to stop, so it gets SIGTERM, which drains a broker of any version. A file is
 * never enough to decide which process gets the signal. The listener on the socket must give broker.json's instance id, and the kernel must
 * report broker.json's pid for that socket.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";
import { isAlive } from "../../base/alive.ts";
import { PalaceError } from "../../base/errors.ts";
import { START_TIMEOUT_MS } from "../../protocol/limits.ts";
import { dial } from "../transport/endpoint.ts";
import { get } from "../transport/http-client.ts";
import { readBrokerFile } from "./discover.ts";

const POLL_MS = 15;

/** Resolves when the broker is gone. Errors: `mismatch`; its hint differs if we cannot identify the broker's process. */
export async function endOtherBroker({ paths }: Config, mismatch: PalaceError): Promise<void> {
  const pid = await provenPid(paths.brokerFile);
  if (pid === undefined)
    throw new PalaceError(
      mismatch.code,
      `${mismatch.message}, and its process cannot be identified`,
      "stop it with the palace-devbox that started it, on its own machine",
      { cause: mismatch },
    );
  process.kill(pid, "SIGTERM");
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline)
      throw new PalaceError("TRANSPORT_TIMEOUT", "the broker is still finishing its calls", "run `palace stop` again");
    await sleep(POLL_MS);
  }
}

async function provenPid(brokerFile: string): Promise<number | undefined> {
  const file = readBrokerFile(brokerFile);
  const door = file?.doors.find(({ kind }) => kind === "unix");
  if (file === undefined || door === undefined) return undefined;
  const { peerCredentials } = await import("../../base/libc.ts");
  const socket = await dial(door);
  // For a connected socket the kernel names the process that listens on it.
  const listener = peerCredentials(socket);
  const { body } = await get(socket, "/health");
  const { instanceId } = parseRecord(body);
  const isProven = instanceId === file.instanceId && listener !== undefined && listener.pid === file.pid;
  return isProven && Number.isInteger(file.pid) && file.pid > 1 ? file.pid : undefined;
}
