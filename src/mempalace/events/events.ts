/** The tools of the coordination log (upstream-latest.md, RFC 003 of upstream). Events never change; a correction is a new event. */
import type {
  EventFilter,
  EventPage,
  EventQuery,
  LogstreamReader,
  LogstreamTx,
  StreamEvent,
} from "../../memory/port/logstream.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import { EVENT_WAIT_MAX_MS } from "../../protocol/limits.ts";
import { validTemporal } from "../../memory/graph/temporal.ts";
import { codePointLength, head, strip } from "../../memory/text/text.ts";
import { InvalidValue } from "../../memory/text/validate.ts";
import {
  artifactIds,
  body,
  eventType,
  isTruthy,
  metadata,
  optionalRouting,
  reprOf,
  routing,
  status,
} from "./fields.ts";

type Values = Record<string, unknown>;

const EVENTS_SHOWN = 50;
const EVENTS_SHOWN_MAX = 500;
/** Maximum bytes of a list of events. A character may take seven bytes in nested JSON, and an answer must fit into a frame. */
const EVENTS_SIZE_MAX_BYTES = 1024 * 1024;
const PREVIEW_LENGTH = 200;
const WAIT_MS = 60_000;
const ACK_TYPE = "event.ack";

const FROM_AGENT_NOTE =
  "from_agent says who you are and filters nothing here; give writer=<agent> for the events of one writer, to_agent=<you> for your own";

export function appendEvent(tx: LogstreamTx, { params, atMs }: WriteCall): unknown {
  return { success: true, event: addEvent(tx, params, atMs) };
}

/** Appends an event. Errors: InvalidValue, thrown before anything is written. */
export function addEvent(tx: LogstreamTx, values: Values, atMs: number): StreamEvent {
  const event = {
    type: eventType(values["type"]),
    stream: routing(values["stream"], "stream"),
    room: routing(values["room"], "room"),
    topic: optionalRouting(values["topic"], "topic"),
    from_agent: routing(values["from_agent"], "from_agent"),
    to_agent: optionalRouting(values["to_agent"], "to_agent"),
    correlation_id: optionalRouting(values["correlation_id"], "correlation_id"),
    branch: optionalRouting(values["branch"], "branch"),
    base_commit: optionalRouting(values["base_commit"], "base_commit"),
    status: status(values["status"]),
    body: body(values["body"]),
    metadata: metadata(values["metadata"]),
    artifactIds: artifactIds(values["artifact_ids"]),
    atMs,
  };
  const dangling = event.artifactIds.find((id) => !tx.hasArtifact(id));
  if (dangling !== undefined) throw new InvalidValue(`artifact_ids references unknown artifact ${reprOf(dangling)}`);
  return tx.addEvent(event);
}

/** Acknowledges an event to its author, in the same stream, room and conversation. */
export function acknowledgeEvent(tx: LogstreamTx, { params, atMs }: WriteCall): unknown {
  const id = routing(params["event_id"], "event_id");
  const target = tx.event(id);
  if (target === undefined) throw new InvalidValue(`event ${reprOf(id)} not found`);
  const event = addEvent(
    tx,
    {
      type: ACK_TYPE,
      stream: target.stream,
      room: target.room,
      topic: params["topic"] ?? target.topic,
      from_agent: params["from_agent"],
      to_agent: target.from_agent,
      correlation_id: target.correlation_id ?? target.id,
      status: params["status"],
      body: params["body"],
      metadata: { ack_of: id },
    },
    atMs,
  );
  return { success: true, event };
}

/** Lists events. The default order is newest first; with `since_event_id`, oldest first. */
export function listEvents(reader: LogstreamReader, values: Values): unknown {
  const order = values["order"] ?? (isTruthy(values["since_event_id"]) ? "asc" : "desc");
  const { events: found, more } = reader.events(eventQuery(reader, { ...values, order }));
  const events = isTruthy(values["preview"]) ? found.map(previewed) : found;
  return { events, count: events.length, ...(more && { more }), ...noteOn(values) };
}

/** Result of one check for a waiting call: its answer, or the number of the last event that was checked. */
export type EventLookup = { answer: unknown } | { lastSeq: number };

/** Checks once whether events after `seenSeq` answer a waiting call. */
export function lookForEvents(reader: LogstreamReader, values: Values, seenSeq: number): EventLookup {
  const query = eventQuery(reader, { ...values, order: "asc", before_event_id: null });
  const lastSeq = reader.lastSeq();
  const page = reader.events({ ...query, afterSeq: Math.max(query.afterSeq ?? 0, seenSeq) });
  return page.events.length === 0 ? { lastSeq } : { answer: waited(values, page) };
}

export function waited(values: Values, { events, more }: EventPage): unknown {
  const isOver = events.length === 0;
  return { timed_out: isOver, events, count: events.length, ...(more && { more }), ...noteOn(values) };
}

/** Returns the maximum time to wait, ms. Errors: InvalidValue. */
export function waitTimeout(values: Values): number {
  const given = values["timeout_ms"] ?? WAIT_MS;
  if (typeof given !== "number" || given < 0) throw new InvalidValue("timeout_ms must be a non-negative number");
  return Math.min(given, EVENT_WAIT_MAX_MS);
}

/** Returns a note for `from_agent` without `writer`: many agents send `from_agent` with every call, but only `writer` filters. */
function noteOn(values: Values): { note?: string } {
  return isTruthy(values["from_agent"]) && !isTruthy(values["writer"]) ? { note: FROM_AGENT_NOTE } : {};
}

/** Reads the filter of a list or a wait. Errors: InvalidValue, in upstream's order. */
function eventQuery(reader: Pick<LogstreamReader, "event">, values: Values): EventQuery {
  const { type } = values;
  const filter = {
    stream: optionalRouting(values["stream"], "stream"),
    room: optionalRouting(values["room"], "room"),
    topic: optionalRouting(values["topic"], "topic"),
    type: type === undefined || type === null || type === "" ? null : eventType(type),
    to_agent: optionalRouting(values["to_agent"], "to_agent"),
    from_agent: optionalRouting(values["writer"], "from_agent"),
    correlation_id: optionalRouting(values["correlation_id"], "correlation_id"),
    status: status(values["status"]),
  };
  const sinceId = optionalRouting(values["since_event_id"], "since_event_id");
  const beforeId = optionalRouting(values["before_event_id"], "before_event_id");
  const since = validTemporal(values["since_created_at"], "since_created_at");
  const order = strip(asOrder(values["order"] ?? "asc").toLowerCase());
  if (order !== "asc" && order !== "desc") throw new InvalidValue(`order=${reprOf(order)} must be 'asc' or 'desc'`);
  const limit = values["limit"] ?? EVENTS_SHOWN;
  if (typeof limit !== "number" || limit < 1) throw new InvalidValue("limit must be a positive integer");
  const afterSeq = placeOf(reader, sinceId, "since_event_id");
  const beforeSeq = placeOf(reader, beforeId, "before_event_id");
  const given = Object.entries({ ...filter, since }).filter(([, value]) => value !== null && value !== "");
  return {
    filter: Object.fromEntries(given) as EventFilter,
    ...(afterSeq !== undefined && { afterSeq }),
    ...(beforeSeq !== undefined && { beforeSeq }),
    limit: Math.min(limit, EVENTS_SHOWN_MAX),
    sizeMaxBytes: EVENTS_SIZE_MAX_BYTES,
    newestFirst: order === "desc",
  };
}

function asOrder(value: unknown): string {
  return typeof value === "string" ? value : reprOf(value);
}

function placeOf(reader: Pick<LogstreamReader, "event">, id: string | null, field: string): number | undefined {
  if (id === null) return undefined;
  const seq = reader.event(id)?.seq;
  if (seq === undefined) throw new InvalidValue(`${field} ${reprOf(id)} not found`);
  return seq;
}

function previewed(event: StreamEvent): unknown {
  const length = codePointLength(event.body);
  if (length <= PREVIEW_LENGTH) return event;
  return { ...event, body: head(event.body, PREVIEW_LENGTH), body_truncated: true, body_length: length };
}
