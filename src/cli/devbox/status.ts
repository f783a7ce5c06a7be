/** Implements `palace devbox status`. */
import { devboxStatus, type DevboxStatus, isUp } from "../../devbox/status.ts";
import { formatBytes, type Output, plural } from "../terminal/output.ts";
import { type DevboxCall, placeOf } from "./call.ts";

/** Exit code if the devbox is not up or its broker does not answer. */
const EXIT_DOWN = 3;

export async function status(call: DevboxCall): Promise<number> {
  const { config, out } = call;
  const found = await devboxStatus(placeOf(call, false), config.paths.stateDir);
  out.answer({ up: isUp(found), ...found }, () => print(found, out));
  return isUp(found) ? 0 : EXIT_DOWN;
}

function print(found: DevboxStatus, out: Output): void {
  const { services, volumes, memory, unfinished, madeFrom, revision } = found;
  out.table([
    ["project", `${found.project}, of ${found.folder}`],
    ...services.map(({ service, name, state, health, revision: made }) => [
      service,
      `${state}${health === null ? "" : `, ${health}`} (${name}${made === null ? "" : `, image ${made}`})`,
    ]),
    ...volumes.map(({ name, bytes }) => ["volume", `${name}${bytes === null ? "" : `, ${formatBytes(bytes)}`}`]),
    ["workspace", found.workspace ?? "-"],
    ["user", found.user ?? "-"],
    [
      "memory",
      memory === null
        ? "-"
        : `${plural(memory.drawers, "drawer")}, ${plural(memory.facts, "fact")}, up to write ${memory.seq}`,
    ],
    ["last backup", found.lastBackup ?? "none"],
    ["this folder", revision],
  ]);
  const stale = services.some(({ revision: made }) => made !== null && made !== revision);
  if (services.length === 0) out.hint("The stack does not run: palace devbox up");
  else if (!isUp(found))
    out.hint(`Not all services run: palace devbox up; see docker compose -p ${found.project} logs`);
  if (stale) out.hint("The images are of another revision than this folder: palace devbox recreate");
  if (madeFrom !== null) out.notice(`The containers were made from ${madeFrom}.`);
  if (unfinished !== null)
    out.hint(`A recreate of ${unfinished.since} stopped at step ${unfinished.step}; run palace devbox recreate`);
}
