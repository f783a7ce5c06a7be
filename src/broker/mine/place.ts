/** Decides whether a client may mine a folder of this machine, by the rule of file-access.ts. */
import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { canBePath } from "../../base/path-size.ts";
import type { Peer } from "../peer.ts";
import { isOpened, isReallyOpened, seesAll } from "../file-access.ts";
import { type MineRequest, notFound, type Refusal, refusal } from "./request.ts";

export type MinePlaces = {
  /** Folder that replaces `~`. */
  userHome: string;
  /** Folders that agents of other machines may mine. */
  roots: readonly string[];
};

/** Returns the real path of the source, or the refusal. */
export function placeOf(request: MineRequest, peer: Peer, { userHome, roots }: MinePlaces): string | Refusal {
  const { source, mode } = request;
  if (!canBePath(source)) return notFound(source);
  const path = source === "~" || source.startsWith("~/") ? join(userHome, source.slice(1)) : source;
  const isOpen = seesAll(peer);
  // This check comes before any access to the file system: other machines must not learn what exists here.
  if (!isOpen && !isOpened(path, roots)) return closed(roots);
  if (!isAbsolute(path) || path.includes("\0"))
    return { ...notFound(source), hint: "give an absolute path on the broker's machine" };
  let real: string;
  try {
    real = realpathSync(path);
    const stat = statSync(real);
    if (!stat.isDirectory() && !(mode === "convos" && stat.isFile())) return notFound(source);
  } catch {
    return notFound(source);
  }
  if (isOpen || isReallyOpened(real, roots)) return real;
  return closed(roots);
}

function closed(roots: readonly string[]): Refusal {
  const what = roots.length === 0 ? "no folder" : `nothing outside of ${roots.join(", ")}`;
  return refusal(
    `agents of other machines may mine ${what} on the broker's machine`,
    "PermissionError",
    "mine where the files are: palace mine projects DIR; or there: palace config set mine-roots DIR, then palace restart",
  );
}
