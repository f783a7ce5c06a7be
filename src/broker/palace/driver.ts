/** Chooses the driver that writes the public palace, and describes foreign writers. */
import type { Config } from "../../config/config.ts";
import type { SqliteLedgerReader } from "../../memory/ledger/read/reader.ts";
import type { Log } from "../../base/log.ts";
import { PalaceError } from "../../base/errors.ts";
import type { AdoptionReport } from "../../protocol/spec.ts";
import { createChromaDriver } from "../../mempalace/driver/chroma.ts";
import { createFilesDriver } from "../../mempalace/driver/files.ts";
import { CLOSETS } from "../../mempalace/format/chroma-file.ts";
import { CountedDriver } from "../../mempalace/reconcile/counted-driver.ts";
import type { UpstreamLock } from "./upstream-lock.ts";
/** Opens the driver of the drawers; with `beside`, the driver of the closets. */
export function openDriver(
  config: Config,
  log: Log,
  mayMend: () => boolean,
  beside?: CountedDriver,
): CountedDriver | undefined {
  const { chroma, paths, fault } = config;
  const collection = { collection: beside === undefined ? config.collection() : CLOSETS };
  switch (config.driver) {
    case "none":
      return undefined;
    case "chroma":
      return new CountedDriver(createChromaDriver({ chroma, log, ...collection }), beside);
    case "files":
      return new CountedDriver(
        createFilesDriver({ palaceDir: paths.palaceDir, log, fault, mayMend, ...collection }),
        beside,
      );
  }
}

export function adoptionError({ state, read, rows, detail, hint }: AdoptionReport): PalaceError {
  if (state === "refused")
    return new PalaceError(
      "PALACE_LOCKED",
      `the public palace cannot be compared with this memory: ${detail}; ${hint}`,
      "",
    );
  const far = rows === 0 ? "" : `, ${read} of ${rows} rows so far`;
  return new PalaceError("PALACE_LOCKED", `the public palace is read-only until its own rows are adopted${far}`, "");
}

/** Returns the collection that this or an earlier broker's driver wrote, from the target's name. */
export function writtenCollection(reader: SqliteLedgerReader): string | undefined {
  const id = (reader.meta("driver_target") ?? "").split("#").at(-1);
  return id === "" ? undefined : id;
}

/** Guesses who wrote foreign rows: a MemPalace that our lock cannot keep out, or the previous holder of MemPalace's lock. */
export function guessWriter(recent: boolean, lock: Pick<UpstreamLock, "status" | "formerHolder">): string {
  if (recent && lock.status().state === "held")
    return "a MemPalace that our lock cannot reach: of another HOME, or one that sees the palace at another mount point";
  const former = lock.formerHolder();
  return former === "" ? "a MemPalace, before this broker" : `a MemPalace, perhaps ${former}`;
}
