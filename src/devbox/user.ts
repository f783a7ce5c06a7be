/** Writes the user's uid to `.env` as the stack's uid, because every later `docker compose` must use the same one. */
import type { Env } from "../config/env.ts";
import { type Place, readStack, type Watch } from "./compose.ts";
import { type Engine, hasVolume, openEngine } from "./engine.ts";
import { hasSetting, writeSettings } from "./settings.ts";

/** Uid in the images, and default in docker-compose.yml. */
const DEFAULT_UID = 1000;

/** Writes the uid. Changes nothing if `.env` or the environment has a uid, if the default is right, or if the stack has volumes. */
export async function writeStackUser({ root, env }: Place, { log }: Watch, opened?: Engine): Promise<void> {
  if (env["DEVBOX_UID"] !== undefined || hasSetting(root, "DEVBOX_UID")) return;
  const caller = callerOf(env);
  // On Mac and Windows, Docker gives a workspace to the container's user, whatever the uid.
  if (caller === undefined || process.platform !== "linux") return;
  const engine = opened ?? (await openEngine(env));
  const { uid, gid } = (await isRootless(engine)) ? { uid: 0, gid: 0 } : caller;
  if (uid === DEFAULT_UID) return;
  const { volumes } = await readStack({ root, env });
  if (await hasVolume(engine, volumes.palace)) return;
  writeSettings(root, { DEVBOX_UID: String(uid), DEVBOX_GID: String(gid) });
  const why = uid === caller.uid ? "as you do" : "which is your own user in a rootless engine";
  log(`the stack runs as uid ${uid}, gid ${gid}, ${why} (written to .env)`);
}

/** Returns true if Docker is rootless. Uid 0 in its containers is then the user who runs Docker; other uids cannot use the user's files. */
async function isRootless(engine: Engine): Promise<boolean> {
  const { SecurityOptions } = (await engine.info()) as { SecurityOptions?: string[] | null };
  return (SecurityOptions ?? []).some((one) => one.split(",").includes("name=rootless"));
}

/** Returns the user who runs the command, also behind `sudo`. */
function callerOf(env: Env): { uid: number; gid: number } | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === undefined || gid === undefined) return undefined;
  const [sudoUid, sudoGid] = [Number(env["SUDO_UID"]), Number(env["SUDO_GID"])];
  return uid === 0 && sudoUid > 0 && Number.isInteger(sudoGid) ? { uid: sudoUid, gid: sudoGid } : { uid, gid };
}
