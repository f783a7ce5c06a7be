/** Sets up the bridge into a Docker container on this machine. It needs no keys, because Docker itself decides who may use it. */
import { DockerExec } from "./docker-exec.ts";
import { type BridgePaths, type BridgeSettings, writeSettings } from "./settings.ts";

const TARGET = /^docker:(?:\/\/)?([\w][\w.-]*)$/;

/** Returns NAME of a target `docker:NAME`, or undefined for any other target. */
export function containerOf(target: string): string | undefined {
  return TARGET.exec(target)?.[1];
}

/** Sets up the bridge. `dockerOptions`: select the Docker daemon. Errors: TRANSPORT_REFUSED with docker's message, TRANSPORT_TIMEOUT. */
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
