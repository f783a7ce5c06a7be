/** Rows of the tool table: the coordination log, in which agents of one palace give each other tasks. */
import { BROKER, BROKER_WAIT, integer, LOG_READ, LOG_WRITE, type PropertySchema, text, texts, tool } from "./row.ts";

const METADATA: PropertySchema = { type: "object", description: "More fields, kept as they are, 64 KiB at most" };
const STATUS = text("open, claimed, ready, applied, blocked, failed or superseded");
const BODY = text("Text, kept word for word, 256 KiB at most");
const ROUTE = {
  topic: text("Topic within the stream"),
  to_agent: text("For whom; * is everybody"),
  correlation_id: text("What ties request and answers together"),
  branch: text("Git branch"),
  base_commit: text("Git commit that the work starts from"),
};
const FILTER = {
  stream: text("Only of this stream"),
  room: text("Only of this room"),
  topic: text("Only of this topic"),
  type: text("Only of this type"),
  to_agent: text("Only for this agent, or for everybody"),
  from_agent: text("Who you are; filters nothing"),
  writer: text("Only written by this agent"),
  correlation_id: text("Only of this conversation"),
  status: text("Only with this status"),
  since_event_id: text("Only after this event, in the order they came: the way to go on where you were"),
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
      artifact_ids: texts("Artifacts that go with it"),
    },
  ),
  task_create: tool(LOG_WRITE, "Give another agent a task: one request event, and a line to wake that agent with.", {
    "project*": text("Project"),
    "from_agent*": text("Who you are"),
    "to_agent*": text("Who is to do it"),
    "goal*": text("The goal, kept word for word"),
    "branch*": text("Git branch for the work"),
    "base_commit*": text("Commit to start from, hexadecimal"),
    "done*": text("When it is done, kept word for word"),
  }),
  event_list: tool(
    LOG_READ,
    "Events by their fields, the newest first; with since_event_id those that came after it, in order.",
    {
      ...FILTER,
      before_event_id: text("Only before this event, in the order they came"),
      limit: integer("Most events (default 50, at most 500)"),
      order: text("desc or asc"),
      preview: { type: "boolean", description: "Only the beginning of long bodies" },
    },
  ),
  event_wait: tool(
    BROKER_WAIT,
    "Wait until there is such an event; timed_out is true where none came. Call it again to go on waiting.",
    {
      ...FILTER,
      timeout_ms: integer("How long, ms (default 60000, at most 300000)"),
      limit: integer("Most events (default 50)"),
    },
  ),
  event_ack: tool(LOG_WRITE, "Answer an event: an event.ack to who wrote it, in the same conversation.", {
    "event_id*": text("The event"),
    "from_agent*": text("Who you are"),
    status: STATUS,
    body: BODY,
    topic: text("Another topic than the event's"),
  }),
  artifact_put: tool(LOG_WRITE, "Keep a text exactly as it is for other agents; gives its id and SHA-256.", {
    "kind*": text("patch, file, log, json or note"),
    "content*": text("The text, UTF-8, 4 MiB at most"),
    "created_by*": text("Who you are"),
    metadata: METADATA,
  }),
  artifact_get: tool({ ...LOG_READ, isMasked: false }, "An artifact, exactly as it was put.", {
    "artifact_id*": text("Its id"),
  }),
  mesh_peers: tool(BROKER, "This copy of the palace, and the others that its MemPalace exchanges events with.", {}),
  patch_submit: tool(
    LOG_WRITE,
    "Hand over a patch: an artifact, and the patch.ready event that announces it, in one.",
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
