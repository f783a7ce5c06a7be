/** Keeps results of a child's writes in memory, so that a repeated key joins the running call or gets the first result. */
import { createHash } from "node:crypto";
import { keyReused, PalaceError } from "../../base/errors.ts";

const KEYS_MAX = 4096;
const SIZE_MAX_BYTES = 32 * 1024 * 1024;

type Entry<T> = {
  fingerprint: string;
  call: T;
  outcome: Promise<unknown>;
  /** Size of the result; undefined while the call runs. */
  sizeBytes: number | undefined;
};

export class Replays<T> {
  readonly #entries = new Map<string, Entry<T>>();
  #sizeBytes = 0;

  /** Returns the first call with this key, if known. Errors: PROTOCOL_KEY_REUSED for other arguments. */
  find(key: string, params: unknown): { call: T; outcome: Promise<unknown> } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.fingerprint === fingerprintOf(params)) return entry;
    throw keyReused();
  }

  /** Keeps a call's result, or its error if the call may have been done. Forgets a call that was not done, so that it can run again. */
  keep(key: string, params: unknown, call: T, outcome: Promise<unknown>): void {
    const entry: Entry<T> = { fingerprint: fingerprintOf(params), call, outcome, sizeBytes: undefined };
    this.#entries.set(key, entry);
    outcome.then(
      (result) => this.#settle(key, entry, isFailure(result) ? undefined : JSON.stringify(result).length),
      (error: unknown) => this.#settle(key, entry, isDoubtful(error) ? 0 : undefined),
    );
  }

  /** Ends a call's entry: removes it if `sizeBytes` is undefined; otherwise keeps it and drops the oldest entries beyond the limits. */
  #settle(key: string, entry: Entry<T>, sizeBytes: number | undefined): void {
    if (sizeBytes === undefined) {
      this.#entries.delete(key);
      return;
    }
    entry.sizeBytes = sizeBytes;
    this.#sizeBytes += sizeBytes;
    for (const [oldKey, old] of this.#entries) {
      if (this.#entries.size <= KEYS_MAX && this.#sizeBytes <= SIZE_MAX_BYTES) return;
      // Keeps a running call. The request queue limits the number of running calls.
      if (old.sizeBytes === undefined) continue;
      this.#entries.delete(oldKey);
      this.#sizeBytes -= old.sizeBytes;
    }
  }
}

/** Returns true for the result of a failed tool. By MCP's convention a failed tool changed nothing. */
function isFailure(result: unknown): boolean {
  return (result as { isError?: unknown } | undefined)?.isError === true;
}

/** Returns true if the write may have been done. A repeated key must then not do the write again. */
function isDoubtful(error: unknown): boolean {
  return error instanceof PalaceError && (error.code === "ENGINE_CALL_LOST" || error.code === "ENGINE_TIMEOUT");
}

/** Returns the hash of the arguments as the client wrote them, without the key. */
function fingerprintOf(params: unknown): string {
  const { _meta, ...rest } = params as { _meta?: unknown };
  return createHash("sha256").update(JSON.stringify(rest)).digest("base64");
}
