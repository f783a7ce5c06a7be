/** Free space where the palace, its state, spooled writes and backups lie, for `palace doctor`. Imported by checks.ts. */
import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { readList } from "../../memory/backup/known-backups.ts";
import { isBridged } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { within } from "../../base/time-limit.ts";
import { formatBytes } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";

/** A broker refuses writes when the disk is full; with this much left there is time to act. */
const FREE_MIN_BYTES = 256 * 1024 * 1024;
/** A network file system whose server is away answers nothing. */
const ANSWER_MAX_MS = 1_000;

type Disk = { holds: string[]; folder: string; freeBytes: number | undefined };

export async function checkDisk(config: Config): Promise<Check> {
  const disks = await Promise.all(placesOf(config).map(lookAt));
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

/**
 * Lists one folder for each file system. Leaves out a backup folder whose disk is not mounted: the check `backups`
 * reports that.
 */
function placesOf(config: Config): Omit<Disk, "freeBytes">[] {
  const { paths, backup, endpoint } = config;
  const isElsewhere = endpoint !== undefined || isBridged(config);
  const dir = backup.dir ?? readList(paths.home).schedule?.dir;
  const places: [string, string | undefined][] = [
    ["palace", isElsewhere ? undefined : paths.home],
    ["palace", isElsewhere ? undefined : paths.palaceDir],
    ["state", paths.stateDir],
    ["spool", paths.spoolRoot],
    ["backups", isElsewhere || dir === undefined || !existsSync(dir) ? undefined : dir],
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
