/** Prepares a write and queues it with the findings of the preparation, the sender and the time. */
import { randomUUID } from "node:crypto";
import { isLogWrite } from "../../mempalace/events/log-tools.ts";
import { FACT_WRITES } from "../../memory/tools/writes.ts";
import type { WriteMethod } from "../tools/writes.ts";
import { needsFindings, prepareWrite } from "../tools/reads.ts";
import { faultPoint } from "../../base/fault-point.ts";
import type { WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { isRefusal } from "../../protocol/tools/result.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";
import { peerFields } from "../peer.ts";
import { filesFor } from "../file-access.ts";
import { authorOf, keyOf, writtenAtMs } from "./answers.ts";
import { type Call, type MethodsDependencies, palaceAfterWrites } from "./call.ts";

export async function submit(
  dependencies: MethodsDependencies,
  method: ToolsWith<{ kind: "write" }> | WriteMethod,
  params: Record<string, unknown>,
  call: Call,
  /** Values that the write needs and the journal must not contain. */
  beside?: unknown,
): Promise<{ value: unknown; replayed: boolean }> {
  const { peer, params: outer, requestId, sizeBytes, signal } = call;
  const given = keyOf(outer);
  const agent = authorOf(peer, outer);
  const palace = await (needsFindings(method) ? palaceAfterWrites(dependencies, call) : dependencies.ready());
  let findings = beside;
  const own = palace.reads.searches.of(agent);
  if (needsFindings(method)) {
    const files = filesFor(peer, palace.reads.files, dependencies.openedRoots);
    // If the preparation fails, the write runs without it: a duplicate note is better than a lost one.
    findings = await prepareWrite({ ...palace.reads, files, own }, method, params).catch(() => undefined);
  }
  const { door, uid, pid } = peer;
  const arrivedAtMs = Date.now();
  const write: WriteCall = {
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
  if (write.atMs !== arrivedAtMs) {
    const fields = { requestId, method, claimedAtMs: write.atMs, author: agent, ...peerFields(peer) };
    dependencies.log.info("write dated by its client", fields);
  }
  faultPoint("admit.before-queue");
  const queue = isLogWrite(method) ? palace.logstream.queue : palace.queue;
  const { outcome, replayed } = await unlessStored(() => queue.submit(peer.id, write, sizeBytes, signal), own.giveBack);
  // A repeated write does not wait until its facts are in MemPalace's file. If sending the facts ends the broker, the repeated write must
  // still get its answer.
  if (FACT_WRITES.has(method) && outcome.ok && !replayed && queue.depth === 0) await palace.reads.graph.sent();
  faultPoint("acknowledge.before-reply");
  if (!outcome.ok) throw new RpcFailure(outcome.error);
  if (write.atMs !== arrivedAtMs && !replayed && !isRefusal(outcome.value))
    dependencies.metrics.usage.add("writesLate");
  return { value: outcome.value, replayed };
}

/** Submits a write. If it stores nothing (busy, refused, repeated), calls `undo`, so that the next try finds what the preparation took. */
async function unlessStored(submitted: () => Promise<WriteOutcome>, undo: () => void): Promise<WriteOutcome> {
  let isStored = false;
  try {
    const { outcome, replayed } = await submitted();
    isStored = outcome.ok && !replayed && !isRefusal(outcome.value);
    return { outcome, replayed };
  } finally {
    if (!isStored) undo();
  }
}
