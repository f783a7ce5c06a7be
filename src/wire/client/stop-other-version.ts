/** Ends a broker of another protocol version with SIGTERM. Brokers of all versions then finish their work and exit. */
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

/** Ends the broker and waits for its end. Errors: the code of `mismatch` if the broker's pid cannot be proven; TRANSPORT_TIMEOUT. */
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

/** Returns the pid in broker.json if the socket's listener has broker.json's instance id and, according to the kernel, this pid. */
async function provenPid(brokerFile: string): Promise<number | undefined> {
  const file = readBrokerFile(brokerFile);
  const door = file?.doors.find(({ kind }) => kind === "unix");
  if (file === undefined || door === undefined) return undefined;
  const { peerCredentials } = await import("../../base/libc.ts");
  const socket = await dial(door);
  // The kernel reports the listening process as the peer.
  const listener = peerCredentials(socket);
  const { body } = await get(socket, "/health");
  const { instanceId } = parseRecord(body);
  const isProven = instanceId === file.instanceId && listener !== undefined && listener.pid === file.pid;
  return isProven && Number.isInteger(file.pid) && file.pid > 1 ? file.pid : undefined;
}
