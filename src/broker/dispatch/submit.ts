/** A write on its way into the queue: what must be found out before, who sends it, and when. Used by methods.ts. */
import { randomUUID } from "node:crypto";
import { isLogWrite } from "../../engine/events/log-tools.ts";
import { needsFindings, prepareWrite, type ReadContext } from "../../engine/tools/read-tools.ts";
import { faultPoint } from "../../platform/fault.ts";
import type { WriteCall } from "../../port/ledger.ts";
import { peerFields } from "../peer.ts";
import { filesFor } from "../places.ts";
import { keyOf, RpcFailure, writtenAtMs } from "./answers.ts";
import type { Call, MethodsDependencies } from "./call.ts";

export async function submit(
  { ready, openedRoots, log }: MethodsDependencies,
  method: string,
  params: Record<string, unknown>,
  { peer, params: outer, requestId, sizeBytes, signal, earlierWrites }: Call,
  /** What the journal must not hold, and the write needs. */
  beside?: unknown,
): Promise<{ value: unknown; replayed: boolean }> {
  const given = keyOf(outer);
  const { reads, ...palace } = await ready();
  const queue = isLogWrite(method) ? palace.logstream.queue : palace.queue;
  const findings =
    beside ??
    (await findOut(method, params, earlierWrites, () => ({
      ...reads,
      files: filesFor(peer, reads.files, openedRoots),
    })));
  const { agent, door, uid, pid } = peer;
  const arrivedAtMs = Date.now();
  const call: WriteCall = {
    key: given ?? randomUUID(),
    isRepeatable: given !== undefined,
    method,
    params,
    peer: { agent, door, uid, pid },
    requestId,
    atMs: writtenAtMs(outer, arrivedAtMs),
    arrivedAtMs,
    ...(findings !== undefined && { findings }),
  };
  if (call.atMs !== arrivedAtMs)
    log.info("write dated by its client", { requestId, method, claimedAtMs: call.atMs, ...peerFields(peer) });
  faultPoint("admit.before-queue");
  const { outcome, replayed } = await queue.submit(peer.id, call, sizeBytes, signal);
  faultPoint("acknowledge.before-reply");
  if (!outcome.ok) throw new RpcFailure(outcome.error);
  return { value: outcome.value, replayed };
}

/** A write that could not be prepared is made without: a note filed twice is better than one lost. */
async function findOut(
  method: string,
  params: Record<string, unknown>,
  earlierWrites: Promise<unknown> | undefined,
  reads: () => ReadContext,
): Promise<unknown> {
  if (!needsFindings(method)) return undefined;
  await earlierWrites;
  return prepareWrite(reads(), method, params).catch(() => undefined);
}
