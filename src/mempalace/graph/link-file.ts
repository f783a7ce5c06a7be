/** Reads and writes upstream's tunnels.json and hallways.json (palace.md 3.7, 3.8). Records without an id stay unchanged. */
import { createHash } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRecord } from "../../base/parse-json.ts";
import {
  compareLinks,
  type FileRow,
  type Finding,
  type ListedRow,
  readLinks,
  readLink,
} from "../../memory/ledger/graph-row.ts";
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import { writeUserFile } from "../../base/atomic-file.ts";
import { tryFlock } from "../../base/libc.ts";
import type { LinkKind, LinkRecord } from "../../memory/port/graph.ts";
import { damaged, type PalaceError } from "../../base/errors.ts";

const ABSENT = "absent";
const HALLWAYS_VERSION = 1;
/** Fields whose numbers Python writes as floats, for example `1.0`. */
const FLOATS = new Set(["strength", "stability"]);

/** Finds MemPalace 3.12's database of hallways. A `hallways.json` beside it would harm MemPalace 3.12, so we then write neither file. */
export function newerHallways(hallwaysFile: string): string | undefined {
  const file = hallwaysFile.replace(/\.json$/, ".sqlite3");
  return existsSync(file) ? file : undefined;
}

/** Key in the ledger's `meta` for the folder of link files that the ledger was last compared with. */
export const LINKS_FOLDER = "links_folder";

/** Identifies the folder by its inode, which stays the same in a container or under another name. Undefined for an absent folder. */
export function linksFolder(tunnelsFile: string): string | undefined {
  const folder = statSync(dirname(tunnelsFile), { throwIfNoEntry: false });
  return folder === undefined ? undefined : String(folder.ino);
}

type Content = { records: unknown[]; isAbsent: boolean; signature: string };

export class LinkFile {
  readonly kinds: readonly [LinkKind];
  readonly file: string;
  readonly #locksDir: string;
  #seen: string | undefined;
  #accepted: string | undefined;

  constructor(kind: LinkKind, file: string, locksDir: string) {
    this.kinds = [kind];
    this.file = file;
    this.#locksDir = locksDir;
  }

  /** Compares the file with the ledger. Returns undefined if the file is unchanged or no longer used. Errors: STORE_CORRUPT. */
  look(ledger: LedgerDatabase): Finding | undefined {
    if (this.#isLeft()) return undefined;
    if (this.#accepted !== undefined && this.#signature() === this.#accepted) return undefined;
    const { records, isAbsent, signature } = this.#read();
    this.#seen = signature;
    const [kind] = this.kinds;
    return compareLinks(readLinks(ledger, kind), rowsOf(kind, records), kind, !isAbsent && this.#isOurs(ledger));
  }

  /** Returns false if the palace moved to a folder that was never compared. A link that is missing there does not count as deleted. */
  #isOurs(ledger: LedgerDatabase): boolean {
    const known = ledger.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck().get(LINKS_FOLDER);
    return known === undefined || known === linksFolder(this.file);
  }

  accept(): void {
    this.#accepted = this.#seen;
  }

  /**
   * Writes the rows to the file. Returns false and writes nothing if another process wrote since the last look, or has the lock. Rows for a
   * file that we never write count as sent.
   */
  send(rows: readonly ListedRow[]): boolean {
    const lock = this.#lock();
    if (lock === "taken") return false;
    try {
      if (this.#isLeft()) return true;
      if (this.#accepted === undefined || this.#signature() !== this.#accepted) return false;
      const changes = new Map(rows.map(({ id, body }) => [id, body]));
      const records = this.#read().records.flatMap((record) => {
        const id = idOf(record);
        const body = id === undefined ? undefined : changes.get(id);
        if (id === undefined || body === undefined) return [record];
        changes.delete(id);
        return body === null ? [] : [readLink(body)];
      });
      for (const body of changes.values()) if (body !== null) records.push(readLink(body));
      writeUserFile(this.file, formatLinks(this.kinds[0], records));
      this.#accepted = this.#seen = this.#signature();
      return true;
    } finally {
      if (lock !== undefined) closeSync(lock);
    }
  }

  close(): void {
    this.#accepted = undefined;
  }

  #isLeft(): boolean {
    if (this.kinds[0] !== "hallway" || newerHallways(this.file) === undefined) return false;
    // If MemPalace's `hallways.sqlite3` is deleted later, the next look must compare the whole JSON file.
    this.#accepted = this.#seen = undefined;
    return true;
  }

  #signature(): string {
    const stat = statSync(this.file, { throwIfNoEntry: false, bigint: true });
    return stat === undefined ? ABSENT : `${stat.ino}:${stat.size}:${stat.mtimeNs}`;
  }

  #read(): Content {
    const signature = this.#signature();
    if (signature === ABSENT) return { records: [], isAbsent: true, signature };
    try {
      const parsed: unknown = JSON.parse(readFileSync(this.file, "utf8"));
      const records = this.kinds[0] === "hallway" && isRecord(parsed) ? parsed["hallways"] : parsed;
      if (Array.isArray(records)) return { records, isAbsent: false, signature };
    } catch (cause) {
      throw this.#unreadable(cause);
    }
    throw this.#unreadable(undefined);
  }

  #unreadable(cause: unknown): PalaceError {
    return damaged(
      `${this.file} does not contain a list of ${this.kinds[0]}s; it was left as it is`,
      "correct it or move it away; the broker writes it again from the ledger",
      cause,
    );
  }

  /** Takes upstream's lock, whose file MemPalace 3.11 deletes. Undefined if MemPalace's folder is absent: we do not make it for a lock. */
  #lock(): number | "taken" | undefined {
    if (!existsSync(dirname(this.#locksDir))) return undefined;
    const key = createHash("sha256").update(this.file).digest("hex").slice(0, 16);
    const path = join(this.#locksDir, `${key}.lock`);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    if (tryFlock(fd) && statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino) return fd;
    closeSync(fd);
    return "taken";
  }
}

/** Formats JSON as Python does: tunnels in ASCII only, hallways with a version, whole floats with `.0`. */
export function formatLinks(kind: LinkKind, records: readonly unknown[]): string {
  const value = kind === "tunnel" ? records : { schema_version: HALLWAYS_VERSION, hallways: records };
  const text = JSON.stringify(
    value,
    (key, one: unknown) => (FLOATS.has(key) && Number.isInteger(one) ? rawJson(`${String(one)}.0`) : one),
    2,
  );
  if (kind === "hallway") return text;
  return text.replaceAll(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function* rowsOf(kind: LinkKind, records: readonly unknown[]): Generator<FileRow> {
  for (const record of records) {
    const id = idOf(record);
    if (id !== undefined) yield { kind, id, body: JSON.stringify(record) };
  }
}

function idOf(record: unknown): string | undefined {
  const id = typeof record === "object" && record !== null ? (record as LinkRecord)["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** Makes a value that JSON.stringify writes as `text`. In Node since 22 (tc39 proposal-json-parse-with-source), but not typed yet. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}
