/**
 * Checks for `palace doctor` whether the data that must not be lost outlives this container. Says nothing outside a
 * container. Imported by checks.ts.
 */
import { isBridged } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";
import { isInContainer } from "../../base/container.ts";
import { type Mount, mountOf } from "../../base/mount.ts";
import { type Check, ok, warn } from "./check.ts";

/** `volume`: what one for it could be called. */
type Place = { what: string; path: string; volume: string };

const IN_MEMORY = new Set(["tmpfs", "ramfs"]);

export function checkVolumes(config: Config, look: (path: string) => Mount | undefined = mountOf): Check[] {
  if (!isInContainer()) return [];
  const places = placesOf(config).map((place) => ({ ...place, mount: look(place.path) }));
  const lost = places.filter(({ mount }) => mount !== undefined && isLost(mount));
  const [first] = lost;
  if (first === undefined) {
    const said = places.map(({ what, mount }) => `${what} on ${mount?.point ?? "an unknown mount"}`);
    return [ok("volumes", said.join(", "))];
  }
  const named = lost.map(
    ({ what, path, mount }) => `${what} (${path}, ${mount?.point === "/" ? "own layer" : "memory"})`,
  );
  const detail = `on no volume: ${named.join(", ")}; a container that is made anew begins without it`;
  return [
    warn("volumes", detail, `start the container with --mount type=volume,source=${first.volume},target=${first.path}`),
  ];
}

function isLost({ point, type }: Mount): boolean {
  return point === "/" || IN_MEMORY.has(type);
}

/** The memory itself is looked at where its broker runs. A home that takes no file has nothing to lose. */
function placesOf(config: Config): Place[] {
  const { paths, model, endpoint } = config;
  const isElsewhere = endpoint !== undefined || isBridged(config);
  return [
    ...(isElsewhere ? [] : [{ what: "the palace", path: paths.home, volume: "palace" }]),
    ...(canWrite(model.userHome) ? [{ what: "the home", path: model.userHome, volume: "palace-home" }] : []),
    { what: "state and spooled writes", path: paths.stateDir, volume: "palace-state" },
  ];
}
