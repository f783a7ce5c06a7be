/** Tables of the coordination log's tools: the write or the read for each name. Runs on the log's thread. */
import { invariant } from "../../base/invariant.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { LogstreamReader, LogstreamTx } from "../../memory/port/logstream.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";
import { InvalidValue } from "../../memory/text/validate.ts";
import { getArtifact, putArtifact, submitPatch } from "./artifacts.ts";
import { acknowledgeEvent, appendEvent, type EventLookup, listEvents, lookForEvents } from "./events.ts";
import { createTask } from "./tasks.ts";

type LogWrite = ToolsWith<{ kind: "write"; keeper: "log" }>;
export type LogRead = ToolsWith<{ kind: "read"; keeper: "log" }>;

const WRITES: Readonly<Record<LogWrite, (tx: LogstreamTx, call: WriteCall) => unknown>> = {
  event_append: appendEvent,
  event_ack: acknowledgeEvent,
  task_create: createTask,
  artifact_put: putArtifact,
  patch_submit: submitPatch,
};

const READS: Readonly<Record<LogRead, (reader: LogstreamReader, values: Record<string, unknown>) => unknown>> = {
  event_list: listEvents,
  artifact_get: getArtifact,
};

export function isLogWrite(method: string): method is LogWrite {
  return Object.hasOwn(WRITES, method);
}

/** Runs a write. Errors: InvalidValue and any error of the transaction. The caller then rolls the write back. */
export function applyToLog(tx: LogstreamTx, call: WriteCall): unknown {
  invariant(isLogWrite(call.method), `${call.method} is not a write of the log`);
  return WRITES[call.method](tx, call);
}

/** Turns a refusal into an ordinary answer. Returns undefined for other errors. */
export function logRefusal(error: unknown): unknown {
  return error instanceof InvalidValue ? { success: false, error: error.message } : undefined;
}

export function readLog(reader: LogstreamReader, method: LogRead, values: Record<string, unknown>): unknown {
  return answered(() => READS[method](reader, values));
}

/** Checks once for a call of `event_wait`. */
export function lookInLog(reader: LogstreamReader, values: Record<string, unknown>, seenSeq: number): EventLookup {
  return answered<EventLookup>(
    () => lookForEvents(reader, values, seenSeq),
    (refused) => ({ answer: refused }),
  );
}

function answered<T>(read: () => T, wrap: (refused: unknown) => T = (refused) => refused as T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidValue) return wrap({ error: error.message });
    throw error;
  }
}
