/** Sets the bridge into a container of this machine's own engine up: nothing to pin and no key, the engine's user may enter. */
import { DockerExec } from "./docker-exec.ts";
import { type BridgePaths, type BridgeSettings, writeSettings } from "./settings.ts";

/** How a target of this kind is written: `docker:NAME`, NAME being the container of the broker. */
const TARGET = /^docker:(?:\/\/)?([\w][\w.-]*)$/;

/** The container that a target names; undefined for a target of another kind. */
export function containerOf(target: string): string | undefined {
  return TARGET.exec(target)?.[1];
}

/**
 * `dockerOptions` name the engine on docker's command line. The settings, written only when the container's gate has answered.
 * Errors: TRANSPORT_REFUSED with what docker said, TRANSPORT_TIMEOUT.
 */
export async function setUpDockerBridge(
  paths: BridgePaths,
  container: string,
  dockerOptions: readonly string[],
): Promise<BridgeSettings> {
  const settings: BridgeSettings = {
    ...{ schema: 1, kind: "docker", target: `docker:${container}`, host: container },
    ...{ port: 0, user: "", hostKey: "", dockerOptions: [...dockerOptions] },
  };
  const connection = new DockerExec(settings);
  try {
    (await connection.channel()).destroy();
  } finally {
    connection.close();
  }
  writeSettings(paths, settings);
  return settings;
}
