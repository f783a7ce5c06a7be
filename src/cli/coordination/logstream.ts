/** Implements `palace events append|list|wait|watch|ack`: events between agents, as in MemPalace 3.11. */
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { defineVerb, options } from "../define-verb.ts";
import {
  defineToolVerb,
  eventLine,
  EXIT_TIMED_OUT,
  printEvents,
  readMetadata,
  readText,
  type Shown,
  verbOfActions,
  wholeNumber,
} from "./log-call.ts";
import { watch } from "./watch.ts";

const FILTERS = options(
  "stream= room= topic= type= to-agent= from-agent= correlation-id= status= since-event-id= since-created-at= limit=",
);

const FILTER_USAGE =
  "[--stream S] [--room R] [--topic T] [--type T] [--to-agent A] [--from-agent A] [--correlation-id C]\n    " +
  "[--status S] [--since-event-id E] [--since-created-at TIME] [--limit N]";

/** Returns the tool's arguments that differ from our options: `--from-agent` is `writer`, and `limit` is a number. */
function filtersOf(values: { "from-agent"?: string; limit?: string }): Record<string, unknown> {
  return { from_agent: undefined, writer: values["from-agent"], limit: wholeNumber(values.limit, "limit") };
}

const append = defineToolVerb({
  usage: `palace events append --type T --stream S --room R --from-agent A [--to-agent A] [--topic T] [--correlation-id C]
    [--branch B] [--base-commit C] [--status S] [--body TEXT | --body-file F] [--metadata JSON] [--artifact-id ID …]

Appends an event. --body-file - reads stdin.`,
  options: options(
    "type= stream= room= topic= from-agent= to-agent= correlation-id= branch= base-commit= status=",
    "body= body-file= metadata= artifact-id=...",
  ),
  place: "anew",
  tool: "event_append",
  required: ["type", "stream", "room", "from-agent"],
  asked: async ({ body, "body-file": file, metadata, "artifact-id": ids }) => ({
    ...{ body: await readText(body, file), body_file: undefined },
    ...{ metadata: readMetadata(metadata), artifact_ids: ids, artifact_id: undefined },
  }),
  show: ({ event }, { out }) => out.answer(event, () => out.text(`Appended:\n${eventLine(event as Shown)}`)),
});

const list = defineToolVerb({
  usage: `palace events list ${FILTER_USAGE}
    [--before-event-id E] [--order asc|desc]

Lists events, the oldest first.`,
  options: { ...FILTERS, ...options("before-event-id= order=") },
  tool: "event_list",
  asked: ({ order = "asc", ...values }) => {
    if (order !== "asc" && order !== "desc")
      throw wrongUsage(`argument --order: invalid choice: '${order}'`, "asc or desc");
    return { ...filtersOf(values), order };
  },
  show: (answer, { out }) => {
    const events = answer["events"] as Shown[];
    out.answer(answer, () => (events.length === 0 ? out.text("No matching events.") : printEvents(events, out)));
    if (answer["more"] === true) out.notice(`more events: --since-event-id ${events.at(-1)?.id ?? ""}`);
    return 0;
  },
});

const wait = defineToolVerb({
  usage: `palace events wait ${FILTER_USAGE} [--timeout-ms N]

Waits for a matching event: a minute by default, five minutes at most. Exit code 2: no event came.`,
  options: { ...FILTERS, ...options("timeout-ms=") },
  tool: "event_wait",
  asked: (values) => ({ ...filtersOf(values), timeout_ms: wholeNumber(values["timeout-ms"], "timeout-ms") }),
  show: (answer, { out }) => {
    const isOver = answer["timed_out"] === true;
    out.answer(answer, () =>
      isOver ? out.text("Timed out; no matching events.") : printEvents(answer["events"] as Shown[], out),
    );
    return isOver ? EXIT_TIMED_OUT : 0;
  },
});

const ack = defineToolVerb({
  usage: `palace events ack EVENT --from-agent A [--status S] [--topic T] [--body TEXT]

Answers an event with a new event to its author.`,
  options: options("from-agent= status= topic= body="),
  args: [1, 1],
  tool: "event_ack",
  required: ["from-agent"],
  asked: (_values, [id]) => ({ event_id: id }),
  show: ({ event }, { out }) => out.answer(event, () => out.text(`Acknowledged:\n${eventLine(event as Shown)}`)),
});

const sync = defineVerb({
  usage: `palace events sync

Not done here: the broker exchanges events with no other copy of the palace.`,
  options: options("peer= token="),
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
