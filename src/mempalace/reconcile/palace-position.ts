/** Reads the palace's sequence number and the inodes of its index folders. It runs on the main thread, so it must be quick. */
import { join } from "node:path";
import { CLOSETS, isClosedWal, readChroma, readCollections, readHead } from "../format/chroma-file.ts";
import { refusalOf } from "../format/refusal.ts";
import { type CountedDriver, NOTHING_SENT } from "./counted-driver.ts";
import { inodesOf, type Mark } from "./last-look.ts";

export type LookOptions = {
  palaceDir: string;
  collection: string;
  driver: CountedDriver | undefined;
  isLocked: () => boolean;
};

/** Maximum time that the main thread waits for another process's commit, ms. */
const BUSY_TIMEOUT_MS = 20;

/** Returns the position; undefined if the caller should try later, `unopened` if the driver must open the palace first. Never throws. */
export function lookAt(
  options: LookOptions,
): Mark | { state: "off" | "unreadable"; detail: string } | "unopened" | undefined {
  const { palaceDir, collection, driver } = options;
  if (driver?.sent.busy === true) return undefined;
  try {
    const found = readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) => ({
      head: readHead(palace),
      collections: readCollections(palace),
    }));
    if (found === undefined) return { state: "off", detail: `${palaceDir} contains no palace` };
    const isAside = driver === undefined || isLockedOut(driver, options);
    if (!isAside && driver.collectionId === undefined) return "unopened";
    const drawers = found.collections.find(({ name }) => name === collection);
    const own = found.collections.find(({ id }) => id === driver?.collectionId);
    if (!isAside && own === undefined)
      return { state: "off", detail: `the driver's palace is not the one in ${palaceDir}` };
    const closets = found.collections.find(({ name }) => name === CLOSETS);
    const folders = own === undefined ? [] : [own, closets].flatMap((one) => one?.vectorSegment ?? []);
    const segment = inodesOf(folders.map((folder) => join(palaceDir, folder)));
    const adopt = isAside ? drawers?.id : own?.id;
    const sent = { ...(driver?.sent ?? NOTHING_SENT) };
    return { head: found.head, segment, adopt, own: own?.id, closets: closets?.id, sent };
  } catch (error) {
    // Another process is committing; the next look will succeed.
    if (String((error as { code?: unknown }).code).startsWith("SQLITE_BUSY")) return undefined;
    // Reading was refused because it would create SQLite's files beside the palace. The driver creates them when it opens the palace.
    if (driver?.kind === "files" && driver.collectionId === undefined && isClosedWal(palaceDir)) return "unopened";
    return { state: "unreadable", detail: refusalOf(error, palaceDir).message };
  }
}

/** Returns true if another program's lock stops our driver. Foreign rows can still be adopted, because reading needs no lock. */
function isLockedOut({ kind, collectionId }: CountedDriver, { isLocked }: LookOptions): boolean {
  return kind === "files" && collectionId === undefined && isLocked();
}
