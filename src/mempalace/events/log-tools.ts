/** Maps each tool of the coordination log to its write or read. Runs on the log's thread. */
import { invariant } from "../../base/invariant.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { LogstreamReader, LogstreamTx } from "../../memory/port/logstream.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";
import { InvalidValue } from "../../memory/text/validate.ts";
import { getArtifact, putArtifact, submitPatch } from "./artifacts.ts";
import { acknowledgeEvent, addEvent, appendEvent, type EventLookup, listEvents, lookForEvents } from "./events.ts";
import { randomBytes } from "node:crypto";
import { handoff } from "../../protocol/handoff.ts";
import { strip } from "../../memory/text/text.ts";

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

/** Runs a write of the log. Errors: InvalidValue and errors of the transaction; the caller then rolls the write back. */
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

const COMMIT = /^[0-9a-f]{7,64}$/;
const SLUG_MAX = 40;

function createTask(tx: LogstreamTx, { params, atMs }: WriteCall): unknown {
  const project = required(params["project"], "project");
  const from_agent = required(params["from_agent"], "requesting agent");
  const to_agent = required(params["to_agent"], "destination agent");
  const branch = required(params["branch"], "branch");
  const base_commit = commit(params["base_commit"]);
  required(params["goal"], "goal");
  required(params["done"], "definition of done");
  const { goal, done } = params as { goal: string; done: string };
  const correlation_id = `task_${slug(goal, "work")}_${randomBytes(4).toString("hex")}`;
  const task = addEvent(
    tx,
    {
      ...{ type: "task.request", stream: `project/${slug(project, "project")}`, room: "delegation" },
      ...{ from_agent, to_agent, correlation_id, branch, base_commit, status: "open" },
      body: `Goal:\n${goal}\n\nDefinition of done:\n${done}\n\nDelivery:\n${DELIVERY}`,
    },
    atMs,
  );
  return { success: true, task, handoff: handoff(correlation_id, to_agent) };
}

const DELIVERY =
  "Acknowledge this event as claimed, then send the work with mempalace_patch_submit under the same correlation id, " +
  "or answer blocked or failed and say why.";

function required(value: unknown, field: string): string {
  const text = typeof value === "string" ? strip(value) : "";
  if (text === "") throw new InvalidValue(`task ${field} must not be empty`);
  return text;
}

/** Requires a commit hash, because branches and tags move. */
function commit(value: unknown): string {
  const text = required(value, "base commit").toLowerCase();
  if (COMMIT.test(text)) return text;
  throw new InvalidValue(
    "task base commit must be a hexadecimal Git object id (at least 7 characters), not a branch or tag",
  );
}

function slug(text: string, absent: string): string {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join("_").slice(0, SLUG_MAX).replace(/_$/, "") || absent;
}
