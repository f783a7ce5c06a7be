/** Stops the broker for `palace stop` and `palace restart`. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config/config.ts";
import { isStarting, setStopped } from "../../base/state-files.ts";
import { PalaceError } from "../../base/errors.ts";
import { START_TIMEOUT_MS } from "../../protocol/limits.ts";
import { hasBridge } from "./bridge.ts";
import { connectClient } from "./client.ts";
import { findBroker, readBrokerFile } from "./discover.ts";
import { endOtherBroker } from "./stop-other-version.ts";

const POLL_MS = 15;
/** Time to wait for an answer, even of a busy broker. */
const ANSWER_MAX_MS = 10_000;
/** Time to wait until the broker has closed the palace, after its door is closed. */
const CLOSE_MAX_MS = 10_000;

/**
 * Stops the broker and waits for its end. Clients of this machine then do not start a broker until `clearStop`. Errors: TRANSPORT_TIMEOUT
 * if the broker does not answer or end; STORE_DISK_FULL or STORE_READ_ONLY if the broker has ended but the file `stopped` cannot be
 * written.
 */
export async function stopBroker(config: Config): Promise<{ stopped: boolean; staysOff: boolean }> {
  if (config.endpoint !== undefined || hasBridge(config)) return { stopped: await endBroker(config), staysOff: false };
  const before = await findBroker(config).catch((error: unknown) => {
    // This process is in a sandbox and cannot end the broker, so it must not prevent later starts either.
    if (error instanceof PalaceError && error.code === "TRANSPORT_SANDBOXED") throw error;
    return undefined;
  });
  const unmarked = markStopped(config);
  let stopped = await endBroker(config).catch(async (error: unknown) => {
    if (!(error instanceof PalaceError && error.code === "PROTOCOL_VERSION_MISMATCH")) throw error;
    await endOtherBroker(config, error);
    return true;
  });
  // A broker that is just starting may not have seen the file `stopped`, so this waits for that broker and ends it, too.
  const deadline = performance.now() + START_TIMEOUT_MS / 2;
  while (isStarting(config.paths, START_TIMEOUT_MS / 2) && performance.now() < deadline) await sleep(POLL_MS);
  if (await endBroker(config)) stopped = true;
  // If the broker saw the file `stopped` before our request, it ends by itself.
  if (!stopped && before !== undefined) {
    await untilClosed(config, before.health.instanceId);
    stopped = true;
  }
  if (unmarked !== undefined)
    throw new PalaceError(
      unmarked.code,
      `${stopped ? "the broker has ended" : "no broker runs"}, but nothing keeps the next agent from starting one: ${unmarked.message}`,
      `${unmarked.hint}, then \`palace stop\` again`,
      { cause: unmarked },
    );
  return { stopped, staysOff: true };
}

/** Writes the file `stopped`, or returns the error, because a full disk must not prevent a stop. */
function markStopped({ paths }: Config): PalaceError | undefined {
  try {
    setStopped(paths);
    return undefined;
  } catch (error) {
    if (error instanceof PalaceError) return error;
    throw error;
  }
}

/** Ends the running broker. Returns false if none is running. */
async function endBroker(config: Config): Promise<boolean> {
  const isOurs = config.endpoint === undefined && !hasBridge(config);
  const found = await findBroker(config, isOurs ? ANSWER_MAX_MS : undefined).catch((error: unknown) => {
    throw error instanceof PalaceError && error.code === "TRANSPORT_TIMEOUT" ? silentBroker(config, error) : error;
  });
  if (found === undefined) return false;
  try {
    const client = await connectClient({ config, agent: "palace stop", start: "never" });
    await client.call("broker.stop", {}).finally(() => client.close());
  } catch (error) {
    // The broker may have seen the file `stopped` and have ended already.
    if (!(error instanceof PalaceError && error.code.startsWith("TRANSPORT_"))) throw error;
  }
  const deadline = performance.now() + START_TIMEOUT_MS;
  while ((await findBroker(config))?.health.instanceId === found.health.instanceId) {
    if (performance.now() > deadline)
      throw new PalaceError(
        "TRANSPORT_TIMEOUT",
        "the broker is still finishing its calls",
        "run `palace status`, then `palace stop` again",
      );
    await sleep(POLL_MS);
  }
  await untilClosed(config, found.health.instanceId);
  return true;
}

/** Waits until the broker has closed the palace. The broker removes broker.json last. */
async function untilClosed({ paths }: Config, instanceId: string): Promise<void> {
  const closedBy = performance.now() + CLOSE_MAX_MS;
  while (readBrokerFile(paths.brokerFile)?.instanceId === instanceId && performance.now() < closedBy)
    await sleep(POLL_MS);
}

function silentBroker({ paths }: Config, cause: PalaceError): PalaceError {
  const pid = readBrokerFile(paths.brokerFile)?.pid;
  return new PalaceError(
    "TRANSPORT_TIMEOUT",
    `the broker does not answer within ${ANSWER_MAX_MS / 1000} s, and has not ended`,
    `run \`palace stop\` again${pid === undefined ? "" : `; if it stays silent, its process is ${pid}`}`,
    { cause },
  );
}
