/**
 * As which uid the compose stack runs: the caller's, so that the devbox can write the caller's workspace. Written down beside
 * docker-compose.yml once, because a later `docker compose` of any kind must mean the same stack. For scripts/up.ts.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "zx";
import type { RunOptions } from "./main.ts";

/** The image's own, and what docker-compose.yml says where nothing else does. */
const DEFAULT_UID = 1000;

/** Does nothing where a uid is named already, where it is the default anyway, and where the stack has its volumes. */
export async function writeStackUser({ env, log, signal }: RunOptions, folder: string): Promise<void> {
  const file = join(folder, ".env");
  const said = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (env["DEVBOX_UID"] !== undefined || /^\s*(export\s+)?DEVBOX_UID\s*=/m.test(said)) return;
  const user = callerOf(env);
  // Docker on a Mac or on Windows makes a workspace its container's, whatever the uid.
  if (user === undefined || user.uid === DEFAULT_UID || process.platform !== "linux") return;
  const docker = $({ cwd: folder, env, signal, quiet: true, nothrow: true });
  const volumes = JSON.parse((await docker`docker compose config --format json`).stdout || "{}") as {
    volumes?: Record<string, { name: string }>;
  };
  const palace = volumes.volumes?.["devbox-palace"]?.name;
  if (palace === undefined || (await docker`docker volume inspect ${palace}`).exitCode === 0) return;
  // A rootless engine shows the caller's own files as root's.
  const { stdout } = await docker`docker info --format ${"{{.SecurityOptions}}"}`;
  const { uid, gid } = stdout.includes("name=rootless") ? { uid: 0, gid: 0 } : user;
  appendFileSync(file, `${said === "" || said.endsWith("\n") ? "" : "\n"}DEVBOX_UID=${uid}\nDEVBOX_GID=${gid}\n`);
  log(`the stack runs as uid ${uid}, gid ${gid}, as you do (written to .env)`);
}

/** Who typed sudo, where somebody did. */
function callerOf(env: RunOptions["env"]): { uid: number; gid: number } | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === undefined || gid === undefined) return undefined;
  const [sudoUid, sudoGid] = [Number(env["SUDO_UID"]), Number(env["SUDO_GID"])];
  return uid === 0 && sudoUid > 0 && Number.isInteger(sudoGid) ? { uid: sudoUid, gid: sudoGid } : { uid, gid };
}
