/** Resolves symbolic links. Returns undefined if the path does not exist. */
import { realpathSync } from "node:fs";
import { orElse } from "./or-else.ts";

export function realPath(path: string): string | undefined {
  return orElse(() => realpathSync(path), undefined);
}
