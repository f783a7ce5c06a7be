/** Events of the coordination log, which agents append for each other. */

/** Text of an event. The fields are named like the columns of the log's file, and like the fields of upstream's answers. */
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
