/**
 * As which uid the compose stack runs: the caller's, so that the devbox can write the caller's workspace. Written down beside
 * docker-compose.yml once, because a later `docker compose` of any kind must mean the same stack.
 */
import type { Env } from "../config/env.ts";
import { type Place, readStack, type Watch } from "./compose.ts";
import { type Engine, hasVolume, openEngine } from "./engine.ts";
import { hasSetting, writeSettings } from "./settings.ts";

/** The image's own, and what docker-compose.yml says where nothing else does. */
const DEFAULT_UID = 1000;

/** Does nothing where a uid is named already, where it is the default anyway, and where the stack has its volumes. */
export async function writeStackUser({ root, env }: Place, { log }: Watch, opened?: Engine): Promise<void> {
  if (env["DEVBOX_UID"] !== undefined || hasSetting(root, "DEVBOX_UID")) return;
  const user = callerOf(env);
  // Docker on a Mac or on Windows makes a workspace its container's, whatever the uid.
  if (user === undefined || user.uid === DEFAULT_UID || process.platform !== "linux") return;
  const engine = opened ?? (await openEngine(env));
  const { volumes } = await readStack({ root, env });
  if (await hasVolume(engine, volumes.palace)) return;
  // A rootless engine shows the caller's own files as root's.
  const { SecurityOptions = [] } = (await engine.info()) as { SecurityOptions?: string[] };
  const { uid, gid } = SecurityOptions.some((one) => one.includes("name=rootless")) ? { uid: 0, gid: 0 } : user;
  writeSettings(root, { DEVBOX_UID: String(uid), DEVBOX_GID: String(gid) });
  log(`the stack runs as uid ${uid}, gid ${gid}, as you do (written to .env)`);
}

/** Who typed sudo, where somebody did. */
function callerOf(env: Env): { uid: number; gid: number } | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === undefined || gid === undefined) return undefined;
  const [sudoUid, sudoGid] = [Number(env["SUDO_UID"]), Number(env["SUDO_GID"])];
  return uid === 0 && sudoUid > 0 && Number.isInteger(sudoGid) ? { uid: sudoUid, gid: sudoGid } : { uid, gid };
}
