/** `palace restart` ends the broker, if one runs, and starts a new one. Agents only notice a delay. */
import { isLoopback, resolveListenHost } from "../../broker/door/listen.ts";
import { readTokens } from "../../broker/door/tokens.ts";
import { clearStop, ensureBroker, untilOpen } from "../../wire/client/start.ts";
import { stopBroker } from "../../wire/client/stop.ts";
import type { Config } from "../../config/config.ts";
import { assertSettings } from "../../config/settings.ts";
import { badValue, PalaceError } from "../../base/errors.ts";
import { askDocker, brokerBox, isBoxRunning, untilServed } from "../docker/owner.ts";
import { ensureByService, noticeStale } from "../at-login/service.ts";
import { EXIT_INTERRUPTED } from "../feeding/feeding.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace restart

Ends the broker after it has finished its calls, and starts a new one, for example after an update. Connected agents reconnect by themselves.`,
  run: async ({ config, out }) => {
    const { stopped, endpoint, health, stale } = await restartBroker(config);
    noticeStale(stale, out);
    const { instanceId, version } = health;
    return out.answer({ stopped, endpoint, instanceId, version }, `The broker is running: ${endpoint}`);
  },
});

type Found = Pick<Awaited<ReturnType<typeof ensureBroker>>, "endpoint" | "health">;
type Restarted = { stopped: boolean; stale?: string | undefined } & Found;

/** Restarts the broker with `config`'s environment. Resolves when its palace is open. Errors: as stopBroker and ensureBroker. */
export async function restartBroker(config: Config): Promise<Restarted> {
  const box = brokerBox(config);
  if (box !== undefined) {
    const stopped = await isBoxRunning(box);
    await askDocker(box, ["restart", box.container]);
    return { stopped, ...(await untilOpen(config, await untilServed(config))) };
  }
  assertSettings(config.settings);
  assertCanListen(config);
  // The stop mark keeps agents from starting a broker of the old version. We always remove the mark, because it would keep the new broker
  // from starting.
  process.once("exit", () => clearStop(config));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(EXIT_INTERRUPTED));
  const { stopped } = await stopBroker(config).finally(() => clearStop(config));
  const { found, stale } = await ensureByService(config, undefined, () => ensureBroker(config)).catch(
    (error: unknown) => {
      throw stopped ? withoutBroker(error) : error;
    },
  );
  return { stopped, stale, ...(await untilOpen(config, found)) };
}

function withoutBroker(error: unknown): unknown {
  if (!(error instanceof PalaceError)) return error;
  const { code, message, hint, cause } = error;
  const next = "fix the cause, then: palace start";
  return new PalaceError(
    code,
    `the old broker has ended and no new one runs: ${message}`,
    hint === "" ? next : `${hint}; ${next}`,
    { cause },
  );
}

/** Refuses a door that other machines can reach if no token exists, before the old broker ends. Errors: CONFIG_BAD_VALUE. */
function assertCanListen({ listen, paths, endpoint }: Config): void {
  if (listen === undefined || listen === "off" || endpoint !== undefined) return;
  if (isLoopback(resolveListenHost(listen.host)) || readTokens(paths.tokensFile).length > 0) return;
  throw badValue(
    `MEMPALACE_LISTEN names ${listen.host}:${listen.port}, which other machines can reach, and there is no token yet`,
    "palace bridge token add NAME --role agent; the running broker was not changed",
  );
}
