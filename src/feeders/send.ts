/** Sends one write of a feeder. After a retryable error, repeats it with the same key, so that the broker applies it once. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../wire/client/client.ts";
import { type ErrorCode, PalaceError } from "../base/errors.ts";
import type { Methods } from "../protocol/spec.ts";

export type Caller = Pick<Client, "call">;

type Write =
  | "source.replace"
  | "source.part"
  | "source.remove"
  | "conversation.replace"
  | "link.rebuild"
  | "message.add";

const ATTEMPTS_MAX = 5;
const RETRY_MS = 500;
const RETRY_MAX_MS = 10_000;
const REFUSALS: ReadonlySet<ErrorCode> = new Set(["PROTOCOL_BAD_PARAMS", "TRANSPORT_FRAME_TOO_LARGE"]);

/** Uses a random key. With a digest of the content as the key, a file that changes back would not be filed again. */
export async function send<M extends Write>(
  caller: Caller,
  signal: AbortSignal,
  method: M,
  params: Methods[M]["params"],
): Promise<Methods[M]["result"]> {
  const key = randomUUID();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await caller.call(method, params, { key });
    } catch (error) {
      const mayRepeat = error instanceof PalaceError && error.retryable && attempt < ATTEMPTS_MAX && !signal.aborted;
      if (!mayRepeat) throw error;
      await sleep(Math.min(error.retryAfterMs ?? RETRY_MS * 2 ** attempt, RETRY_MAX_MS));
    }
  }
}

/** Returns true for an error about one document; other documents may still be filed. */
export function isRefusal(error: unknown): error is PalaceError {
  return error instanceof PalaceError && REFUSALS.has(error.code);
}
