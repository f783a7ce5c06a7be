/** `palace events watch` prints events before it stores their position, so that a kill in between repeats events but never loses one. */
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Refused } from "../../agents/coordination/refused.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import { endWithReader, type Output } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";
import { callLog, EXIT_TIMED_OUT, orRefusal, printEvents, type Shown, wholeNumber } from "./log-call.ts";
import { mkdirSync, readFileSync } from "node:fs";
import { orElse } from "../../base/or-else.ts";
import { isRecord } from "../../base/parse-json.ts";
import { writeUserFile } from "../../base/atomic-file.ts";

const POLL_MS = 300_000;
const LIMIT = 50;
/** Pause between two attempts to reach an absent broker. */
const AWAY_MS = 1_000;

/** Fields of an event that an option of the same name filters by: `--to-agent` is `to_agent`. The options may be repeated. */
const FIELDS = ["stream", "room", "topic", "type", "status", "to_agent", "from_agent", "correlation_id"] as const;
type Field = (typeof FIELDS)[number];
type Wanted = { fields: Map<Field, Set<string>>; excluded: Set<string> };

type Watch = {
  config: Config;
  out: Output;
  wanted: Wanted;
  agent: string | undefined;
  stateFile: string | undefined;
  cursor: string | undefined;
  limit: number;
  pollMs: number;
  /** Time without events until the watch ends; 0 means unlimited. */
  idleMs: number;
  follow: boolean;
};

export const watch = defineVerb({
  usage: `palace events watch [--agent ME] [--stream S …] [--room R …] [--topic T …] [--type T …] [--status S …] [--to-agent A …]
    [--from-agent A …] [--exclude-from-agent A …] [--correlation-id C …] [--since-event-id E] [--state-file F] [--from-start]
    [--follow] [--idle-exit-ms N] [--poll-timeout-ms N] [--limit N]

Prints the next matching event and ends; with --follow it continues. --agent ME selects events for you or for everybody, except your own.
The position is stored in ~/.mempalace/watch/ME.json, or in --state-file. The first run begins with new events.
Exit code 2: no event came within --idle-exit-ms.`,
  options: options(
    "stream=... room=... topic=... type=... status=... to-agent=... from-agent=... exclude-from-agent=...",
    "correlation-id=... agent= since-event-id= state-file= idle-exit-ms= poll-timeout-ms= limit= from-start follow",
  ),
  run: ({ values, config, out }) =>
    orRefusal(out, async () => {
      const { agent, "since-event-id": since } = values;
      const home = dirname(config.paths.upstreamLocksDir);
      const begun: Watch = {
        ...{ config, out, agent, wanted: wantedOf(values), follow: values.follow === true },
        ...{ stateFile: stateFileOf(values["state-file"], agent, home), cursor: undefined },
        limit: atLeast(wholeNumber(values.limit, "limit") ?? LIMIT, 1, "--limit must be a positive integer"),
        pollMs: atLeast(
          wholeNumber(values["poll-timeout-ms"], "poll-timeout-ms") ?? POLL_MS,
          1,
          "--poll-timeout-ms must be a positive number of milliseconds",
        ),
        idleMs: atLeast(
          wholeNumber(values["idle-exit-ms"], "idle-exit-ms") ?? 0,
          0,
          "--idle-exit-ms must be zero (wait forever) or a positive number of milliseconds",
        ),
      };
      await assertValues(begun);
      const state = readWatchState(begun.stateFile);
      begun.cursor = await beginning(begun, state, since, values["from-start"] === true);
      if (state.state === "absent") keepFirst(begun);
      return await follow(begun);
    }),
});

function atLeast(value: number, least: number, otherwise: string): number {
  if (value < least) throw new Refused(otherwise);
  return value;
}

function wantedOf(values: Readonly<Record<string, unknown>>): Wanted {
  const given = (name: string): string[] => ((values[name] ?? []) as string[]).filter((one) => one !== "");
  const own = typeof values["agent"] === "string" && values["agent"] !== "" ? [values["agent"]] : [];
  const fields = new Map<Field, Set<string>>();
  for (const field of FIELDS) {
    const wanted = new Set([...given(field.replaceAll("_", "-")), ...(field === "to_agent" ? own : [])]);
    if (wanted.size > 0) fields.set(field, wanted);
  }
  return { fields, excluded: new Set([...given("exclude-from-agent"), ...own]) };
}

function fits({ fields, excluded }: Wanted, event: Shown): boolean {
  if (excluded.has(event.from_agent)) return false;
  return [...fields].every(([field, wanted]) => {
    const value = event[field];
    return (value !== null && wanted.has(value)) || (field === "to_agent" && value === "*");
  });
}

/** Returns the filter for the broker, which accepts only one value for each field. `fits` checks fields with several values. */
function asked({ wanted }: Watch): Record<string, unknown> {
  const single = [...wanted.fields].filter(([, values]) => values.size === 1);
  return Object.fromEntries(
    single.map(([field, values]) => [field === "from_agent" ? "writer" : field, [...values][0]]),
  );
}

/** Lets the broker refuse unknown values, such as an event type, for which no event would ever arrive. Errors: Refused. */
async function assertValues({ config, wanted }: Watch): Promise<void> {
  for (const [field, values] of wanted.fields)
    for (const value of values)
      await callLog(config, "event_list", { [field === "from_agent" ? "writer" : field]: value, limit: 1 });
}

/** Decides where the watch begins and prints that position on stderr. Errors: Refused if the named event does not exist. */
async function beginning(
  { config, out, stateFile }: Watch,
  state: WatchState,
  since: string | undefined,
  fromStart: boolean,
): Promise<string | undefined> {
  const cursor = since ?? (state.state === "ok" ? state.cursor : undefined);
  if (state.state === "damaged")
    out.notice(`${stateFile ?? ""} cannot be read: the watch looks at all events and so misses none`);
  if (cursor === undefined) {
    if (fromStart || state.state !== "absent") return undefined;
    const newest = (await callLog(config, "event_list", { limit: 1 }))["events"] as Shown[];
    const id = newest[0]?.id;
    if (id !== undefined) out.notice(`Beginning after ${id}; --from-start shows earlier events`);
    return id;
  }
  try {
    await callLog(config, "event_list", { since_event_id: cursor, limit: 1 });
    return cursor;
  } catch (error) {
    if (!(error instanceof Refused) || since !== undefined) throw error;
    out.notice(`${cursor} is no longer in this log: the watch looks at all events and so misses none`);
    return undefined;
  }
}

/** Stores the first cursor: without it, the next run would count as the first run and skip events. Errors: Refused. */
function keepFirst(watched: Watch): void {
  try {
    writeWatchState(watched);
  } catch (error) {
    throw new Refused(
      `${watched.stateFile ?? ""} cannot be written: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    );
  }
}

async function follow(watched: Watch): Promise<number> {
  const { out, idleMs, pollMs, limit } = watched;
  await endWithReader();
  let hasMatched = false;
  for (let idleSince = performance.now(); ;) {
    const leftMs = idleMs === 0 ? Number.POSITIVE_INFINITY : idleMs - (performance.now() - idleSince);
    const isIdle = leftMs <= 0;
    const timeout_ms = Math.max(0, Math.ceil(Math.min(pollMs, leftMs)));
    const asking = { ...asked(watched), since_event_id: watched.cursor, timeout_ms, limit };
    const events = await waited(watched, asking);
    const matched = events.filter((event) => fits(watched.wanted, event));
    watched.cursor = events.at(-1)?.id ?? watched.cursor;
    if (matched.length > 0) {
      hasMatched = true;
      idleSince = performance.now();
      tell(watched, matched, false);
    }
    // If this fails, storing the next cursor may succeed. Otherwise the next run only shows events twice.
    orElse(() => writeWatchState(watched), undefined);
    if (matched.length > 0 && !watched.follow) return 0;
    if (!isIdle || events.length > 0) continue;
    if (out.isJson) tell(watched, [], true);
    else out.text("Idle timeout; no matching events.");
    return hasMatched ? 0 : EXIT_TIMED_OUT;
  }
}

/** Returns no events if the broker is away; the caller then asks again. */
async function waited({ config }: Watch, asking: Record<string, unknown>): Promise<Shown[]> {
  try {
    return (await callLog(config, "event_wait", asking))["events"] as Shown[];
  } catch (error) {
    if (!(error instanceof PalaceError && error.retryable)) throw error;
    await sleep(AWAY_MS);
    return [];
  }
}

function tell({ out, cursor }: Watch, events: readonly Shown[], isOver: boolean): void {
  if (!out.isJson) printEvents(events, out);
  else out.document({ events, count: events.length, cursor: cursor ?? null, timed_out: isOver });
}

/** Stored position of a watch, in the format of MemPalace 3.11. With an unreadable file the watch shows events twice but misses none. */
type WatchState = { state: "absent" | "damaged" | "empty" } | { state: "ok"; cursor: string };

/** Names the file after the agent, without `:` and separators. Returns undefined if `given` is "" or the agent has no name. */
function stateFileOf(given: string | undefined, agent: string | undefined, home: string): string | undefined {
  if (given !== undefined) return given === "" ? undefined : resolve(given);
  if (agent === undefined || agent === "") return undefined;
  return join(home, "watch", `${agent.replaceAll("_", "__").replace(/[:/\\]/g, "_")}.json`);
}

function readWatchState(file: string | undefined): WatchState {
  if (file === undefined) return { state: "absent" };
  try {
    const content = JSON.parse(readFileSync(file, "utf8")) as unknown;
    if (!isRecord(content) || !("cursor" in content)) return { state: "damaged" };
    const { cursor } = content;
    return typeof cursor === "string" && cursor !== "" ? { state: "ok", cursor } : { state: "empty" };
  } catch (error) {
    return { state: (error as NodeJS.ErrnoException).code === "ENOENT" ? "absent" : "damaged" };
  }
}

/** Stores the cursor, the id of the last event that was shown. Errors: file system errors. */
function writeWatchState({ stateFile, cursor, agent }: Watch): void {
  if (stateFile === undefined) return;
  mkdirSync(dirname(stateFile), { recursive: true });
  const state = {
    cursor: cursor ?? null,
    updated_at: `${new Date().toISOString().slice(0, 19)}Z`,
    ...(agent !== undefined && { agent }),
  };
  writeUserFile(stateFile, `${JSON.stringify(state)}\n`);
}
