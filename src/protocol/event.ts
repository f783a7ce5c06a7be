/** Events of the coordination log, which agents append for each other. */

/** The text of an event, as agents send and see it. Names are the file's columns and upstream's answers. */
export type EventText = {
  type: string;
  stream: string;
  room: string;
  topic: string | null;
  from_agent: string;
  to_agent: string | null;
  correlation_id: string | null;
  branch: string | null;
  base_commit: string | null;
  status: string | null;
  body: string;
};
