/** Reads the name of this copy of the palace from MemPalace's `replica.json`, or creates it once. The name never changes. */
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { isRecord } from "../../base/parse-json.ts";
import { damaged } from "../../base/errors.ts";

const REPLICA_ID = /^rep_(?:[0-9a-f]{12}|[0-9a-f]{32})$/;

/** Returns the name. Errors: STORE_CORRUPT for an invalid file, because with a new name the events' numbers would begin at 1 again. */
export function replicaId(palaceDir: string): string {
  const file = join(palaceDir, "replica.json");
  return read(file) ?? make(file);
}

function make(file: string): string {
  const id = `rep_${randomBytes(16).toString("hex")}`;
  const draft = `${file}.new`;
  faultPoint("log.before-name");
  writeFileAtomic(draft, `${JSON.stringify({ replica_id: id, minted_at_note: "palace-devbox" }, null, 2)}\n`);
  faultPoint("log.before-link");
  try {
    // Does not replace an existing file, because a MemPalace may create it at the same moment.
    linkSync(draft, file);
  } catch (error) {
    // Renames the file on a file system without links.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  return read(file) ?? id;
}

function read(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const id = idIn(text);
  if (typeof id === "string" && REPLICA_ID.test(id)) return id;
  throw damaged(`${file} has no replica id`, "restore it from a backup, or delete it");
}

function idIn(text: string): unknown {
  try {
    const content = JSON.parse(text) as unknown;
    return isRecord(content) ? content["replica_id"] : undefined;
  } catch {
    return undefined;
  }
}
