/**
 * Sets up the bridge into a container of this machine's own engine: it needs no pinned host key and no key of its own,
 * because the engine lets its user in.
 */
import { DockerExec } from "./docker-exec.ts";
import { type BridgePaths, type BridgeSettings, writeSettings } from "./settings.ts";

/** Matches a target of this kind, `docker:NAME`, where NAME is the broker's container. */
const TARGET = /^docker:(?:\/\/)?([\w][\w.-]*)$/;

/** Returns the container that a target names; undefined for a target of another kind. */
export function containerOf(target: string): string | undefined {
  return TARGET.exec(target)?.[1];
}

/**
 * Sets the bridge up and returns its settings, which are written only after the container's gate has answered.
 * `dockerOptions` choose the engine on docker's command line. Errors: TRANSPORT_REFUSED with docker's message, TRANSPORT_TIMEOUT.
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
