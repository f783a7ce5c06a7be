/** Finds out whether the broker runs elsewhere. In the devbox it runs in another container, and the palace is read-only here. */
import { existsSync } from "node:fs";
import { hasBridge } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";

/** Returns true if another machine or a container has the broker: MEMPALACE_BROKER is set, or a bridge is set up. */
export function isElsewhere(config: Config): boolean {
  return config.endpoint !== undefined || hasBridge(config);
}

export function isServedByStack(config: Config): boolean {
  const { home } = config.paths;
  return !isElsewhere(config) && existsSync(home) && !canWrite(home);
}
