/** Recognises a palace whose broker runs in another container, as in the devbox: the palace is read-only here. */
import { existsSync } from "node:fs";
import { isBridged } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";

export function isServedByStack(config: Config): boolean {
  const { home } = config.paths;
  return config.endpoint === undefined && !isBridged(config) && existsSync(home) && !canWrite(home);
}
