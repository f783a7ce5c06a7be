/** Implements `palace events append|list|wait|watch|ack`: events between agents, as in MemPalace 3.11. */
import { PalaceError } from "../../base/errors.ts";
import { defineVerb } from "../define-verb.ts";
import { verbOfActions } from "./actions.ts";
import {
  callLog,
  EXIT_TIMED_OUT,
  eventLine,
  isSpooled,
  orRefusal,
  printEvents,
  readMetadata,
  readText,
  required,
  type Shown,
} from "./log-call.ts";
import { wholeNumber } from "./numbers.ts";
import { watch } from "./watch.ts";

const text = { type: "string" } as const;

const FILTERS = {
  ...{ stream: text, room: text, topic: text, type: text, "to-agent": text, "from-agent": text },
  ...{ "correlation-id": text, status: text, "since-event-id": text, "since-created-at": text, limit: text },
};
type Filters = Readonly<Partial<Record<keyof typeof FILTERS, string>>>;

const FILTER_USAGE =
  "[--stream S] [--room R] [--topic T] [--type T] [--to-agent A] [--from-agent A] [--correlation-id C]\n    " +
  "[--status S] [--since-event-id E] [--since-created-at TIME] [--limit N]";

function filtersOf(values: Filters): Record<string, unknown> {
  return {
    ...{ stream: values.stream, room: values.room, topic: values.topic, type: values.type, status: values.status },
    to_agent: values["to-agent"],
    writer: values["from-agent"],
    correlation_id: values["correlation-id"],
    since_event_id: values["since-event-id"],
    since_created_at: values["since-created-at"],
    limit: wholeNumber(values.limit, "limit"),
  };
}

const append = defineVerb({
  usage: `palace events append --type T --stream S --room R --from-agent A [--to-agent A] [--topic T] [--correlation-id C]
    [--branch B] [--base-commit C] [--status S] [--body TEXT | --body-file F] [--metadata JSON] [--artifact-id ID …]

Appends an event. --body-file - reads stdin.`,
  options: {
    ...{ type: text, stream: text, room: text, topic: text, "from-agent": text, "to-agent": text },
    ...{ "correlation-id": text, branch: text, "base-commit": text, status: text, body: text, "body-file": text },
    ...{ metadata: text, "artifact-id": { type: "string", multiple: true } },
  },
  args: [0, 0],
  place: "anew",
  run: ({ values, config, out }) =>
    orRefusal(out, async () => {
      const needed = required(values, ["type", "stream", "room", "from-agent"]);
      const answer = await callLog(config, "event_append", {
        ...{ type: needed.type, stream: needed.stream, room: needed.room, from_agent: needed["from-agent"] },
        ...{ topic: values.topic, to_agent: values["to-agent"], correlation_id: values["correlation-id"] },
        ...{ branch: values.branch, base_commit: values["base-commit"], status: values.status },
        body: await readText(values.body, values["body-file"]),
        metadata: readMetadata(values.metadata),
        artifact_ids: values["artifact-id"],
      });
      if (isSpooled(answer, out)) return 0;
      if (out.isJson) out.document(answer["event"]);
      else out.text(`Appended:\n${eventLine(answer["event"] as Shown)}`);
      return 0;
    }),
});

const list = defineVerb({
  usage: `palace events list ${FILTER_USAGE}
    [--before-event-id E] [--order asc|desc]

Lists events, the oldest first.`,
  options: { ...FILTERS, "before-event-id": text, order: text },
  args: [0, 0],
  run: ({ values, config, out }) =>
    orRefusal(out, async () => {
      const { order = "asc" } = values;
      if (order !== "asc" && order !== "desc")
        throw new PalaceError("CONFIG_USAGE", `argument --order: invalid choice: '${order}'`, "asc or desc");
      const asked = { ...filtersOf(values), order, before_event_id: values["before-event-id"] };
      const answer = await callLog(config, "event_list", asked);
      const events = answer["events"] as Shown[];
      if (out.isJson) out.document(answer);
      else if (events.length === 0) out.text("No matching events.");
      else printEvents(events, out);
      if (answer["more"] === true) out.notice(`there is more: --since-event-id ${events.at(-1)?.id ?? ""}`);
      return 0;
    }),
});

const wait = defineVerb({
  usage: `palace events wait ${FILTER_USAGE} [--timeout-ms N]

Waits for such an event: a minute by default, five minutes at most. Exit code 2: none came.`,
  options: { ...FILTERS, "timeout-ms": text },
  args: [0, 0],
  run: ({ values, config, out }) =>
    orRefusal(out, async () => {
      const asked = { ...filtersOf(values), timeout_ms: wholeNumber(values["timeout-ms"], "timeout-ms") };
      const answer = await callLog(config, "event_wait", asked);
      const events = answer["events"] as Shown[];
      if (out.isJson) out.document(answer);
      else if (answer["timed_out"] === true) out.text("Timed out; no matching events.");
      else printEvents(events, out);
      return answer["timed_out"] === true ? EXIT_TIMED_OUT : 0;
    }),
});

const ack = defineVerb({
  usage: `palace events ack EVENT --from-agent A [--status S] [--topic T] [--body TEXT]

Answers an event with a new event to its author.`,
  options: { "from-agent": text, status: text, topic: text, body: text },
  args: [1, 1],
  run: ({ values, args: [id], config, out }) =>
    orRefusal(out, async () => {
      const { "from-agent": from } = required(values, ["from-agent"]);
      const { status, topic, body } = values;
      const answer = await callLog(config, "event_ack", { event_id: id, from_agent: from, status, topic, body });
      if (isSpooled(answer, out)) return 0;
      if (out.isJson) out.document(answer["event"]);
      else out.text(`Acknowledged:\n${eventLine(answer["event"] as Shown)}`);
      return 0;
    }),
});

const sync = defineVerb({
  usage: `palace events sync

Not done here: the broker exchanges events with no other copy of the palace.`,
  options: { peer: text, token: text },
  args: [0, 0],
  place: "any",
  run: async () => {
    throw new PalaceError(
      "ENGINE_UNSUPPORTED",
      "the broker exchanges events with no other copy of the palace",
      "MemPalace's own `logstream sync` may work in the same file, beside the broker",
    );
  },
});

export const verb = verbOfActions(
  `palace events append | list | wait | watch | ack [options]

Manages events between agents: work to do, answers, news. \`palace events append --help\` has the options of one.`,
  { append, list, wait, watch, ack, sync },
);
