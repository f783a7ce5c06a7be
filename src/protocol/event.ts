/** Events of the coordination log, which agents append for each other. */

/** Text of an event, as agents send and see it. The names are the columns of the file and of upstream's answers. */
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
