/** `palace start` starts the broker and lifts a stop by hand; with --new also where a palace vanished. */
import { setTimeout as sleep } from "node:timers/promises";
import { connectClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import { Spool } from "../../wire/client/spool.ts";
import { clearStop, ensureBroker, spawnBroker, untilOpen } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import { clearFailed, readFailed, vanishedPalace } from "../../base/state-files.ts";
import { PalaceError } from "../../base/errors.ts";
import { START_TIMEOUT_MS } from "../../protocol/limits.ts";
import { askDocker, brokerBox, isBoxRunning, untilServed } from "../docker/owner.ts";
import { defineVerb, options } from "../define-verb.ts";

const POLL_MS = 20;

export const verb = defineVerb({
  usage: `palace start [--new]

Starts the broker if none is running, and lets agents start it again by themselves after \`palace stop\`.
\`palace restart\` ends the broker that runs first.

  --new   begin an empty palace after the old one vanished; an existing palace is never emptied`,
  options: options("new"),
  place: "anew",
  run: async ({ values, config, out }) => {
    clearStop(config);
    if (values.new === true && vanishedPalace(config.paths) !== undefined) await beginAnew(config);
    const box = brokerBox(config);
    const isStarting = box !== undefined && !(await isBoxRunning(box));
    if (isStarting) await askDocker(box, ["start", box.container]);
    const served = await (box === undefined ? ensureBroker(config) : untilServed(config));
    const { endpoint, health, ...found } = await untilOpen(config, served);
    const started = isStarting || found.started;
    // Connecting delivers what agents wrote without a broker.
    if (new Spool(config.paths.spoolDir).entries().length > 0)
      (await connectClient({ config, agent: "palace start", start: "auto" })).close();
    if (out.isJson) out.document({ started, endpoint, instanceId: health.instanceId, version: health.version });
    else out.text(`${started ? "The broker is running" : "The broker was running already"}: ${endpoint}`);
    return 0;
  },
});

/** Starts a broker with a new palace. Errors: the broker's own, BROKER_START_FAILED. */
async function beginAnew(config: Config): Promise<void> {
  const { logFile } = config.paths;
  clearFailed(config.paths);
  spawnBroker(config, ["--new"]);
  const deadline = performance.now() + START_TIMEOUT_MS;
  while ((await findBroker(config)) === undefined || vanishedPalace(config.paths) !== undefined) {
    const failed = readFailed(config.paths);
    if (failed !== undefined && failed.code !== "PALACE_GONE") throw failed;
    if (performance.now() > deadline)
      throw new PalaceError(
        "BROKER_START_FAILED",
        `no broker became reachable; its log is ${logFile}`,
        "run `palace logs`",
      );
    await sleep(POLL_MS);
  }
}
