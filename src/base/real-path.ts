/** Resolves symbolic links in a path that may lead nowhere. */
import { realpathSync } from "node:fs";

/** Undefined for a path that leads nowhere. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
