/** Checks this machine for `palace doctor`: disks, volumes, user and clocks. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { canWrite } from "../../base/can-write.ts";
import { isInContainer } from "../../base/container.ts";
import { type Mount, mountOf } from "../../base/mount.ts";
import { within } from "../../base/time-limit.ts";
import type { Config } from "../../config/config.ts";
import { readList } from "../../memory/backup/known-backups.ts";
import type { Health } from "../../protocol/spec.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import type { Client } from "../../wire/client/client.ts";
import { readBrokerFile } from "../../wire/client/discover.ts";
import { formatBytes, formatDuration } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";
import { orElse } from "../../base/or-else.ts";

/** Minimum free space without a warning. It leaves time to act before the disk is full and a broker refuses writes. */
const FREE_MIN_BYTES = 256 * 1024 * 1024;
/** Maximum wait for a file system, because a network file system without its server never answers. */
const ANSWER_MAX_MS = 1_000;

type Disk = { holds: string[]; folder: string; freeBytes: number | undefined };

export async function checkDisk(config: Config): Promise<Check> {
  const disks = await Promise.all(disksOf(config).map(lookAt));
  const silent = disks.find(({ freeBytes }) => freeBytes === undefined);
  if (silent !== undefined)
    return warn("disk", `the disk of ${silent.folder} does not answer`, `look at that mount: df '${silent.folder}'`);
  const said = disks.map(({ holds, freeBytes }) => `${holds.join(", ")}: ${formatBytes(freeBytes ?? 0)} free`);
  const low = disks.find(({ freeBytes }) => (freeBytes ?? 0) < FREE_MIN_BYTES);
  if (low !== undefined)
    return warn(
      "disk",
      `${said.join("; ")}; a full disk refuses writes`,
      `free some space on the disk of ${low.folder}`,
    );
  const backups = disks.find(({ holds }) => holds.includes("backups"));
  const needed = statSync(config.paths.ledgerFile, { throwIfNoEntry: false })?.size ?? 0;
  if (backups !== undefined && (backups.freeBytes ?? 0) < needed)
    return warn(
      "disk",
      `${said.join("; ")}; the next backup takes about ${formatBytes(needed)}`,
      `free some space on the disk of ${backups.folder}`,
    );
  return ok("disk", said.join("; "));
}

/** Lists one folder for each file system. The check `backups` reports a backup folder whose disk is not mounted. */
function disksOf(config: Config): Omit<Disk, "freeBytes">[] {
  const { paths, backup } = config;
  const isFar = isElsewhere(config);
  const dir = backup.dir ?? readList(paths.home).schedule?.dir;
  const places: [string, string | undefined][] = [
    ["palace", isFar ? undefined : paths.home],
    ["palace", isFar ? undefined : paths.palaceDir],
    ["state", paths.stateDir],
    ["spool", paths.spoolRoot],
    ["backups", isFar || dir === undefined || !existsSync(dir) ? undefined : dir],
  ];
  const disks = new Map<number, Omit<Disk, "freeBytes">>();
  for (const [what, path] of places) {
    const folder = path === undefined ? undefined : existing(path);
    const device = folder === undefined ? undefined : statSync(folder, { throwIfNoEntry: false })?.dev;
    if (folder === undefined || device === undefined) continue;
    const disk = disks.get(device) ?? { holds: [], folder };
    if (!disk.holds.includes(what)) disk.holds.push(what);
    disks.set(device, disk);
  }
  return [...disks.values()];
}

function existing(path: string): string {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  return place;
}

async function lookAt(disk: Omit<Disk, "freeBytes">): Promise<Disk> {
  const free = statfs(disk.folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
  return { ...disk, freeBytes: await within(free, ANSWER_MAX_MS) };
}

/** `volume`: a name that the user could give to a Docker volume for the folder. */
type Place = { what: string; path: string; volume: string };

const IN_MEMORY = new Set(["tmpfs", "ramfs"]);

export function checkVolumes(config: Config, look: (path: string) => Mount | undefined = mountOf): Check[] {
  if (!isInContainer()) return [];
  const places = placesOf(config).map((place) => ({ ...place, mount: look(place.path) }));
  const lost = places.filter(({ mount }) => mount !== undefined && isLost(mount));
  const [first] = lost;
  if (first === undefined) {
    const said = places.map(({ what, mount }) => `${what} on ${mount?.point ?? "an unknown mount"}`);
    return [ok("volumes", said.join(", "))];
  }
  const named = lost.map(
    ({ what, path, mount }) => `${what} (${path}, ${mount?.point === "/" ? "own layer" : "memory"})`,
  );
  const detail = `not on a volume: ${named.join(", ")}; a new container does not get these files`;
  return [
    warn("volumes", detail, `start the container with --mount type=volume,source=${first.volume},target=${first.path}`),
  ];
}

function isLost({ point, type }: Mount): boolean {
  return point === "/" || IN_MEMORY.has(type);
}

/** Lists the folders to check. Leaves out the palace of a broker elsewhere, and a read-only home, which has nothing to lose. */
function placesOf(config: Config): Place[] {
  const { paths, model } = config;
  const isFar = isElsewhere(config);
  return [
    ...(isFar ? [] : [{ what: "the palace", path: paths.home, volume: "palace" }]),
    ...(canWrite(model.userHome) ? [{ what: "the home", path: model.userHome, volume: "palace-home" }] : []),
    { what: "state and spooled writes", path: paths.stateDir, volume: "palace-state" },
  ];
}

/** Folder of the project in the devbox. */
const WORKSPACE = "/workspace";

/** Returns no check on a system without numeric user ids. */
export function checkUid({ paths, endpoint, model }: Config): Check[] {
  const uid = process.getuid?.();
  if (uid === undefined) return [];
  const door = endpoint === undefined ? readBrokerFile(paths.brokerFile)?.doors.find(isUnix) : undefined;
  const socket = door?.kind === "unix" ? ownerOf(door.path) : undefined;
  if (socket !== undefined && socket.uid !== uid)
    return [
      warn(
        "uid",
        `you run as uid ${uid}, but the broker's socket belongs to uid ${socket.uid}, and the broker accepts only its own uid`,
        `run as uid ${socket.uid}, or stop that broker and give the palace to uid ${uid}`,
      ),
    ];
  const folder = workspace(model.userHome);
  const project = folder === undefined ? undefined : ownerOf(folder);
  if (folder !== undefined && project !== undefined && project.uid !== uid && isRefused(folder))
    return [
      warn(
        "uid",
        `you run as uid ${uid}, but ${folder} belongs to uid ${project.uid}, so you cannot write there`,
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

/** Returns the mount point of the project in which we run, else `WORKSPACE`; undefined outside a container. */
function workspace(userHome: string): string | undefined {
  if (!isInContainer()) return undefined;
  const point = mountOf(process.cwd())?.point ?? "/";
  const isProject = point !== "/" && !userHome.startsWith(point) && ownerOf(point) !== undefined;
  return isProject ? point : ownerOf(WORKSPACE) && WORKSPACE;
}

function ownerOf(path: string): { uid: number; gid: number } | undefined {
  return orElse(() => statSync(path, { throwIfNoEntry: false }), undefined);
}

/** Returns true if permissions refuse us (EACCES). A read-only mount (EROFS) does not count, because it may be on purpose. */
function isRefused(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** Maximum difference of two clocks without a warning, ms. */
export const SKEW_MAX_MS = 60_000;

/** `fromMs`, `toMs`: our clock before a request and after its answer. `writtenMs`: date of the newest write with a date in the future. */
export type Asked = { fromMs: number; toMs: number; writtenMs?: number | undefined };

export async function askWrittenAhead(client: Client): Promise<number | undefined> {
  const page = await client
    .call("memory.audit", { sinceMs: Date.now() + SKEW_MAX_MS, limit: 1 })
    .catch(() => undefined);
  return page?.entries[0]?.at_ms;
}

export function checkClock({ paths }: Config, { nowMs }: Health, { fromMs, toMs, writtenMs }: Asked): Check {
  const ahead = filesAheadMs([paths.ledgerFile, `${paths.ledgerFile}-wal`, paths.lockFile, paths.brokerFile], toMs);
  if (ahead > SKEW_MAX_MS)
    return warn(
      "clock",
      `files of the palace are dated ${formatDuration(ahead)} ahead of this clock`,
      "correct this clock, or the clock of the machine that has the palace's disk: timedatectl",
    );
  if (writtenMs !== undefined)
    return warn(
      "clock",
      `a write is dated ${formatDuration(writtenMs - toMs)} ahead of this clock: the broker's clock was wrong then`,
      "look at the writes: palace history; an undo without --until finds them too: palace history undo --client NAME --since 2h",
    );
  if (nowMs === undefined) return ok("clock", "no file has a future date; this broker does not report its time");
  const skew = nowMs < fromMs ? nowMs - fromMs : Math.max(nowMs - toMs, 0);
  const said = `the broker's clock is ${formatDuration(Math.abs(skew))} ${skew < 0 ? "behind" : "ahead of"} this one`;
  if (Math.abs(skew) > SKEW_MAX_MS)
    return warn("clock", said, "correct both clocks (timedatectl); until then the broker's clock dates the writes");
  return ok("clock", "the broker's clock and this one agree");
}

function filesAheadMs(files: readonly string[], nowMs: number): number {
  const dated = files.map((file) => orElse(() => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0, 0));
  return Math.max(...dated) - nowMs;
}
