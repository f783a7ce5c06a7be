/**
 * Checks for `palace doctor` whether we are the user that owns the broker's socket and the workspace. Imported by
 * checks.ts.
 */
import { accessSync, constants, statSync } from "node:fs";
import { readBrokerFile } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import { isInContainer } from "../../base/container.ts";
import { mountOf } from "../../base/mount.ts";
import { type Check, ok, warn } from "./check.ts";

/** Folder of the project in the devbox. */
const WORKSPACE = "/workspace";

/** Nothing where a system has no such numbers. */
export function checkUid({ paths, endpoint, model }: Config, folder = workspace(model.userHome)): Check[] {
  const uid = process.getuid?.();
  if (uid === undefined) return [];
  const door = endpoint === undefined ? readBrokerFile(paths.brokerFile)?.doors.find(isUnix) : undefined;
  const socket = door?.kind === "unix" ? ownerOf(door.path) : undefined;
  if (socket !== undefined && socket.uid !== uid)
    return [
      warn(
        "uid",
        `this is uid ${uid}, and the broker's socket belongs to uid ${socket.uid}: it takes its own uid alone`,
        `run as uid ${socket.uid}, or stop that broker and let uid ${uid} have the palace`,
      ),
    ];
  const project = folder === undefined ? undefined : ownerOf(folder);
  if (folder !== undefined && project !== undefined && project.uid !== uid && isRefused(folder))
    return [
      warn(
        "uid",
        `this is uid ${uid}, and ${folder} belongs to uid ${project.uid}: nothing can be written there`,
        `on the host, into .env beside docker-compose.yml: DEVBOX_UID=${project.uid} and DEVBOX_GID=${project.gid}; then docker compose run --rm --build owner and docker compose up -d`,
      ),
    ];
  const owned = [
    ...(socket === undefined ? [] : ["the broker's socket"]),
    ...(project?.uid === uid ? [folder ?? ""] : []),
  ];
  return [ok("uid", `${uid}${owned.length === 0 ? "" : `, as the owner of ${owned.join(" and ")}`}`)];
}

const isUnix = ({ kind }: { kind: string }): boolean => kind === "unix";

/**
 * Returns the project's mount that the current folder is in, else the devbox's `WORKSPACE`; undefined outside a
 * container.
 */
function workspace(userHome: string): string | undefined {
  if (!isInContainer()) return undefined;
  const point = mountOf(process.cwd())?.point ?? "/";
  const isProject = point !== "/" && !userHome.startsWith(point) && ownerOf(point) !== undefined;
  return isProject ? point : ownerOf(WORKSPACE) && WORKSPACE;
}

function ownerOf(path: string): { uid: number; gid: number } | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** By its owner: a folder that was mounted read-only is meant to be. */
function isRefused(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}
