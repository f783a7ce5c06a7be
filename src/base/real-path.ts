/** Resolves symbolic links in a path. Returns undefined if the path does not exist. */
import { realpathSync } from "node:fs";

export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
