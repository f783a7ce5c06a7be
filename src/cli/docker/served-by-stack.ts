/** Recognises a palace whose broker runs in another container, as in the devbox: the palace is read-only here. */
import { existsSync } from "node:fs";
import { isElsewhere } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";

export function isServedByStack(config: Config): boolean {
  const { home } = config.paths;
  return !isElsewhere(config) && existsSync(home) && !canWrite(home);
}
