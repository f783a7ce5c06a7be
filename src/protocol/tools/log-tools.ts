/** Rows of the tool table for the coordination log, in which agents of one palace give each other tasks. */
import { BROKER, BROKER_WAIT, integer, LOG_READ, LOG_WRITE, type PropertySchema, text, texts, tool } from "./row.ts";

const METADATA: PropertySchema = { type: "object", description: "More fields, stored unchanged, 64 KiB at most" };
const STATUS = text("open, claimed, ready, applied, blocked, failed or superseded");
const BODY = text("Text, kept word for word, 256 KiB at most");
const ROUTE = {
  topic: text("Topic within the stream"),
  to_agent: text("Recipient; * means everybody"),
  correlation_id: text("Id shared by a request and its answers"),
  branch: text("Git branch"),
  base_commit: text("Git commit that the work starts from"),
};
const FILTER = {
  stream: text("Only this stream"),
  room: text("Only this room"),
  topic: text("Only this topic"),
  type: text("Only this type"),
  to_agent: text("Only for this agent or everybody"),
  from_agent: text("Who you are; filters nothing"),
  writer: text("Only written by this agent"),
  correlation_id: text("Only this conversation"),
  status: text("Only with this status"),
  since_event_id: text("Only events that arrived after this one; pass the last id you saw to continue"),
  since_created_at: text("Only from this time on: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
};

export const LOG_TOOLS = {
  event_append: tool(
    LOG_WRITE,
    "Append an event for other agents: a request, an answer, news. Events are never changed.",
    {
      "type*": text("Such as task.request, task.reply, patch.ready"),
      "stream*": text("Such as project/NAME"),
      "room*": text("Such as delegation, patches, reviews, status"),
      "from_agent*": text("Who you are"),
      ...ROUTE,
      status: STATUS,
      body: BODY,
      metadata: METADATA,
      artifact_ids: texts("Ids of artifacts that belong to it"),
    },
  ),
  task_create: tool(
    LOG_WRITE,
    "Give another agent a task. Appends a request event and returns a line to wake that agent with.",
    {
      "project*": text("Project"),
      "from_agent*": text("Who you are"),
      "to_agent*": text("Agent that does it"),
      "goal*": text("The goal, kept word for word"),
      "branch*": text("Git branch for the work"),
      "base_commit*": text("Commit to start from, hexadecimal"),
      "done*": text("Criteria of done, kept word for word"),
    },
  ),
  event_list: tool(
    LOG_READ,
    "List events by their fields, newest first; with since_event_id, those that arrived after it, oldest first.",
    {
      ...FILTER,
      before_event_id: text("Only events that arrived before this one"),
      limit: integer("Maximum events (default 50, at most 500)"),
      order: text("desc or asc"),
      preview: { type: "boolean", description: "Shorten long bodies" },
    },
  ),
  event_wait: tool(
    BROKER_WAIT,
    "Wait for a matching event. If none arrives in time, timed_out is true; call again to continue.",
    {
      ...FILTER,
      timeout_ms: integer("How long, ms (default 60000, at most 300000)"),
      limit: integer("Maximum events (default 50)"),
    },
  ),
  event_ack: tool(LOG_WRITE, "Answer an event: sends an event.ack to its writer, in the same conversation.", {
    "event_id*": text("Id of the event"),
    "from_agent*": text("Who you are"),
    status: STATUS,
    body: BODY,
    topic: text("Topic (default the event's)"),
  }),
  artifact_put: tool(LOG_WRITE, "Store a text unchanged for other agents; returns its id and SHA-256.", {
    "kind*": text("patch, file, log, json or note"),
    "content*": text("The text, UTF-8, 4 MiB at most"),
    "created_by*": text("Who you are"),
    metadata: METADATA,
  }),
  artifact_get: tool({ ...LOG_READ, isMasked: false }, "Read an artifact, exactly as it was put.", {
    "artifact_id*": text("Its id"),
  }),
  mesh_peers: tool(BROKER, "List this copy of the palace and those that its MemPalace exchanges events with.", {}),
  patch_submit: tool(
    LOG_WRITE,
    "Hand over a patch: stores an artifact and appends a patch.ready event that announces it.",
    {
      "content*": text("Unified diff, with its final newline"),
      "from_agent*": text("Who you are"),
      "stream*": text("Such as project/NAME"),
      room: text("Room (default patches)"),
      ...ROUTE,
      body: BODY,
      metadata: METADATA,
    },
  ),
};
