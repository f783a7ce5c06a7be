/** Records which files we wrote, and their former content, in our own state folder, before we write anything else. */
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { readRecord } from "../../base/parse-json.ts";
import { tryFlock } from "../../base/libc.ts";
import { writeFailure } from "../../base/state-files.ts";
import { unavailable } from "../../base/errors.ts";
import type { Before, Want } from "./wire-entries.ts";

/** `before`: hash of the original; null if the file did not exist. `after`: hashes of the contents that we made from that original. */
export type FileRecord = Before & {
  path: string;
  kind: "merge" | "own" | "seed";
  /** Our entry in a merged file; null for a copied file. */
  want: Want | null;
  before: string | null;
  after: string[];
};

/** `pid`: part of the names of temporary files that a kill leaves. `folders`: folders that we made. */
export type AgentRecord = { version: 1; pid: number; files: FileRecord[]; folders: string[] };

const HASH = /^[0-9a-f]{64}$/;

export const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

export class InstallState {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "install");
  }

  /**
   * Refuses a second run at the same time: it would assume a kill of the first. Returns the unlock function. Errors: STORE_UNAVAILABLE,
   * STORE_READ_ONLY.
   */
  lock(): () => void {
    let file: number;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      file = openSync(join(this.#folder, "lock"), "a", 0o600);
    } catch (cause) {
      throw writeFailure(this.#folder, cause);
    }
    if (tryFlock(file)) return () => closeSync(file);
    closeSync(file);
    throw unavailable("another palace install is at work", "run this again when it is done");
  }

  read(agent: string): AgentRecord | undefined {
    // Without a readable record, an entry counts as ours by its command, and a file by its content.
    const record = readRecord(this.#file(agent));
    return record["version"] === 1 && Array.isArray(record["files"]) ? (record as AgentRecord) : undefined;
  }

  /** Errors: STORE_DISK_FULL, STORE_READ_ONLY. */
  write(agent: string, record: AgentRecord): void {
    this.#put(this.#file(agent), `${JSON.stringify(record, null, 2)}\n`);
  }

  forget(agent: string): void {
    rmSync(this.#file(agent), { force: true });
    this.removeUnnamed();
  }

  removeUnnamed(): void {
    const folder = join(this.#folder, "originals");
    if (!existsSync(folder)) return;
    const agents = readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
    const kept = agents.flatMap((name) => this.read(name.slice(0, -".json".length))?.files ?? []);
    for (const name of readdirSync(folder))
      if (!kept.some(({ before }) => before === name)) rmSync(join(folder, name), { force: true });
  }

  keep(original: Buffer): void {
    const file = join(this.#folder, "originals", hashOf(original));
    if (!existsSync(file)) this.#put(file, original);
  }

  /** Returns undefined if the saved original is missing or damaged. */
  original(hash: string): Buffer | undefined {
    const file = join(this.#folder, "originals", hash);
    if (!HASH.test(hash) || !existsSync(file)) return undefined;
    const content = readFileSync(file);
    return hashOf(content) === hash ? content : undefined;
  }

  #put(file: string, content: string | Buffer): void {
    try {
      mkdirSync(join(this.#folder, "originals"), { recursive: true, mode: 0o700 });
      writeFileAtomic(file, content);
    } catch (cause) {
      throw writeFailure(this.#folder, cause);
    }
  }

  #file(agent: string): string {
    return join(this.#folder, `${agent}.json`);
  }
}
