/** `palace devbox down` ends the containers. `--volumes` erases everything, after the user has typed the project's name. */
import { endBridge } from "../../wire/bridge/end-resident.ts";
import { readSettings, removeSettings } from "../../wire/bridge/settings.ts";
import type { Config } from "../../config/config.ts";
import { assertErased, lastCopy, takeDown } from "../../devbox/down.ts";
import { boxesOf, type Engine, hasVolume } from "../../devbox/engine.ts";
import { restoreCommand } from "../../devbox/restore.ts";
import { devboxStatus } from "../../devbox/status.ts";
import { openStack } from "../../devbox/up.ts";
import { wrongUsage } from "../../base/errors.ts";
import { formatBytes, plural } from "../terminal/output.ts";
import { assertNamed, type DevboxCall, placeOf, watched } from "./call.ts";

export function down(call: DevboxCall): Promise<number> {
  const { values, config, out } = call;
  return watched(call, "palace devbox down continues.", async (watch) => {
    const place = placeOf(call, false);
    const opened = await openStack(place);
    const { project, volumes } = opened.stack;
    const isErasing = values.volumes === true;
    if (!isErasing && (values.yes !== undefined || values["no-backup"] === true))
      throw wrongUsage("--yes and --no-backup need --volumes", "palace devbox down");
    const isThere =
      isErasing && ((await hasVolume(opened.engine, volumes.palace)) || (await hasVolume(opened.engine, volumes.data)));
    let copy: string | null = null;
    if (isThere) {
      const found = await devboxStatus(place, config.paths.stateDir);
      const home = found.volumes.find(({ name }) => name === volumes.data)?.bytes ?? null;
      const memory = found.memory === null ? "a memory of unknown size" : plural(found.memory.drawers, "drawer");
      out.notice(
        `This erases ${memory} and the home${home === null ? "" : ` (${formatBytes(home)})`} of the stack ${project}.`,
      );
      await assertNamed(project, values.yes, (name) => `palace devbox down --volumes --yes ${name}`);
      if (values["no-backup"] !== true) {
        copy = await lastCopy(opened, config.paths.cacheDir, watch);
        out.notice(`A copy is kept: ${copy}`);
      }
    }
    const brokers = isErasing ? await brokerNames(opened.engine, project) : [];
    await takeDown(opened, isErasing, watch);
    const isUnbridged = await removeBridge(config, brokers);
    if (isErasing) await assertErased(opened);
    const back = copy === null ? "" : ` To restore memory and home in a new stack: ${restoreCommand(copy)}`;
    const done = isErasing
      ? `The stack and its volumes are deleted.${back}`
      : "The stack has ended; memory and home are kept. To restart: palace devbox up";
    out.answer({ project, erased: isThere, copy }, out.spelled(done));
    if (isUnbridged) out.notice("Agents on this machine used that memory; the bridge to it is removed.");
    return 0;
  });
}

/** Returns the names of the containers that run, or may have run, the stack's broker. */
async function brokerNames(engine: Engine, project: string): Promise<string[]> {
  const boxes = await boxesOf(engine, project);
  return [`${project}-broker-1`, ...boxes.filter(({ service }) => service === "broker").map(({ name }) => name)];
}

/** Removes the bridge from this machine's agents to a broker that will not return. Returns true if there was a bridge. */
async function removeBridge({ paths }: Config, brokers: readonly string[]): Promise<boolean> {
  const bridge = readSettings(paths);
  if (bridge?.kind !== "docker" || !brokers.includes(bridge.host)) return false;
  await endBridge(paths);
  removeSettings(paths);
  return true;
}
