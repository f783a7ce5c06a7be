/** Events of the coordination log, which agents append for each other. */

/** Content of an event. The fields have the names of the columns in logstream.sqlite3, which are also the names in upstream's answers. */
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
