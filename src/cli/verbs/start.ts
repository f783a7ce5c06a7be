/** `palace start` starts the broker, also after `palace stop`. */
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
import { exitAtLogin, reportAtLogin, showPlan } from "../at-login/report.ts";
import { ensureByService, planStart, noticeStale } from "../at-login/service.ts";
import { defineVerb, options, usageError } from "../define-verb.ts";

const POLL_MS = 20;

const USAGE = `palace start [--new]
palace start --at-login [--dry-run]

Starts the broker if none is running, and lets agents start it again by themselves after \`palace stop\`.
\`palace restart\` ends the broker that runs first.

  --new       begin an empty palace after the old one vanished; an existing palace is never emptied
  --at-login  start the broker now and at every login, by a systemd user unit or a launchd agent. It then does not end when
              it is idle. To start it without a login: loginctl enable-linger. \`palace stop --at-login\` undoes it.
              Exit code 5: the service manager did not take the file
  --dry-run   show what --at-login would write and run, and do nothing`;

export const verb = defineVerb({
  usage: USAGE,
  options: options("new at-login dry-run"),
  place: "anew",
  run: async ({ values, config, out }) => {
    const isDryRun = values["dry-run"] === true;
    if (isDryRun && values["at-login"] !== true) throw usageError(USAGE, "--dry-run needs --at-login");
    const plan = values["at-login"] === true ? planStart(config) : undefined;
    if (isDryRun && plan !== undefined) return showPlan(plan, out);
    clearStop(config);
    if (values.new === true && vanishedPalace(config.paths) !== undefined) await beginAnew(config);
    const box = brokerBox(config);
    const isStarting = box !== undefined && !(await isBoxRunning(box));
    if (isStarting) await askDocker(box, ["start", box.container]);
    const before = await findBroker(config).catch(() => undefined);
    const {
      found: served,
      done,
      stale,
    } = box === undefined
      ? await ensureByService(config, plan, () => ensureBroker(config))
      : { found: await untilServed(config) };
    // The notice says that the broker was started without the service's file. This may be false for a broker that already ran.
    if (before === undefined) noticeStale(stale, out);
    const atLogin = plan && done && reportAtLogin(plan, done, out);
    const { endpoint, health } = await untilOpen(config, served);
    // If the instance differs, this command or the service manager started the broker.
    const started = isStarting || before?.health.instanceId !== health.instanceId;
    // Connecting delivers the writes that agents spooled without a broker.
    if (new Spool(config.paths.spoolDir).entries().length > 0)
      (await connectClient({ config, agent: "palace start", start: "auto" })).close();
    const { instanceId, version } = health;
    if (out.isJson) out.document({ started, endpoint, instanceId, version, ...(atLogin && { atLogin }) });
    else out.text(`${started ? "The broker is running" : "The broker was running already"}: ${endpoint}`);
    return exitAtLogin(done);
  },
});

/** Starts a broker with a new, empty palace in place of a vanished one. Errors: the broker's errors, BROKER_START_FAILED. */
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
