/** A short look at where the palace stands, on the main thread: one number, and what is in its folders. Used by watch.ts. */
import { join } from "node:path";
import { CLOSETS, isClosedWal, readChroma, readCollections, readHead } from "../format/chroma-file.ts";
import { refusalOf } from "../format/refusal.ts";
import { type CountedDriver, NOTHING_SENT } from "./counted-driver.ts";
import { inodesOf, type Mark } from "./seen.ts";

export type LookOptions = {
  palaceDir: string;
  collection: string;
  driver: CountedDriver | undefined;
  isLocked: () => boolean;
};

/** The main thread waits no longer than that for a commit of another process. */
const BUSY_TIMEOUT_MS = 20;

/** Undefined: a moment later will do. `unopened`: the driver has to open it first. Never throws. */
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
    if (found === undefined) return { state: "off", detail: `${palaceDir} holds no palace` };
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
    // Somebody commits: they are done when we look again.
    if (String((error as { code?: unknown }).code).startsWith("SQLITE_BUSY")) return undefined;
    // The driver makes the files that reading takes.
    if (driver?.kind === "files" && driver.collectionId === undefined && isClosedWal(palaceDir)) return "unopened";
    return { state: "unreadable", detail: refusalOf(error, palaceDir).message };
  }
}

/** Reading takes no lock: what another MemPalace does while it has the palace is taken over all the while. */
function isLockedOut({ kind, collectionId }: CountedDriver, { isLocked }: LookOptions): boolean {
  return kind === "files" && collectionId === undefined && isLocked();
}
