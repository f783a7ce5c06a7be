/** `palace status` prints the broker's report about itself. It does not start a broker. */
import { readSettings } from "../../wire/bridge/settings.ts";
import { isBridged, missingBridge } from "../../wire/client/bridge.ts";
import { withClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import { unanswered } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import { isStopped, vanishedPalace } from "../../base/state-files.ts";
import { PalaceError } from "../../base/errors.ts";
import type { EngineReport, StatusReport } from "../../protocol/spec.ts";
import { formatEndpoint } from "../../wire/transport/endpoint.ts";
import { addressOf } from "../doctor/broker.ts";
import {
  askErasure,
  describeAdoption,
  describeClosets,
  describeErasure,
  describeForeignWriters,
  describeGraph,
  describeLag,
  describeMode,
  describeReranker,
} from "../report/describe.ts";
import { asOwner, type BrokerBox, brokerBox, isBoxRunning } from "../docker/owner.ts";
import {
  alignRows,
  endWithReader,
  formatBytes,
  formatDuration,
  formatEngine,
  type Output,
  plural,
  printable,
} from "../terminal/output.ts";
import { type Call, defineVerb, options } from "../define-verb.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { withInterrupt } from "../feeding/feeding.ts";

const EXIT_NOT_RUNNING = 3;

export const verb = defineVerb({
  usage: `palace status [--watch]

Shows the running broker, its queue, the search and the palace. A drawer is one stored text, and a wing is a project or a person.
Starts nothing; exit code 3 when no broker is running. Three of its rows:
  topology  where the broker and its agents run (docs/topologies/README.md)
  driver    the part of the broker that writes the palace that MemPalace opens, and its state
  strays    rows that other programs have written into that palace

  --watch   show changes until Ctrl-C: draws in place on a terminal, else prints a line for each row that changed. With --json it prints one
            document a line, and only when something changed. If the broker ends, it waits for the next one`,
  options: options("watch"),
  run: async (call) => {
    const { config, out, values } = call;
    const box = brokerBox(config);
    try {
      return await asOwner(call, values.watch === true ? watchStatus : report);
    } catch (error) {
      const isWay = error instanceof PalaceError && error.code.startsWith("TRANSPORT_");
      if (box === undefined || !isWay) throw error;
      return tellAbsence(await absenceOfBox(box, error), out);
    }
  },
});

type Asked = Pick<Call<{}>, "config" | "out">;

async function report({ config, out }: Asked): Promise<number> {
  const found = await look(config);
  if (found === undefined) return tellAbsence(absence(config), out);
  return out.answer(found.document, found.rows);
}

async function watchStatus({ config, out }: Asked): Promise<number> {
  return watch(out, async () => {
    const found = await look(config).catch((error: unknown) => {
      // The broker ended between two requests, so it counts as not running.
      if (error instanceof PalaceError && /^(?:TRANSPORT_|BROKER_SHUTTING_DOWN$)/.test(error.code)) return undefined;
      throw error;
    });
    if (found !== undefined) return found;
    const { why, hint, ...more } = absence(config);
    const shown = out.spelled(hint);
    return {
      document: { running: false, ...more, why, hint: shown },
      rows: [
        ["broker", why],
        ["", shown],
      ],
      same: [why],
    };
  });
}

/** Matches ages and remaining times, which change without an event. */
const DURATION = /\b[\d.]+ (?:ms|s|min|h)\b/g;

/** Returns undefined if no broker runs. */
async function look(config: Config): Promise<Look | undefined> {
  const found = await findBroker(config);
  if (found === undefined) return undefined;
  const box = brokerBox(config);
  // Prints the container, because our socket into the container is removed when this process ends.
  const endpoint = box === undefined ? found.endpoint : `docker:${box.container}`;
  return withClient({ config, agent: "palace status", start: "never" }, async (client) => {
    const status = await client.call("palace.status", {});
    const erasure = await askErasure(client);
    const rows = describe(status, endpoint, describeErasure(erasure));
    const same = rows.map(([name, value]) => `${name}\t${value.replace(DURATION, "")}`);
    return { document: { running: true, endpoint, ...status, ...(erasure && { erasure }) }, rows, same };
  });
}

function tellAbsence({ why, hint, ...more }: Absence, out: Output): number {
  out.answer({ running: false, ...more, why, hint: out.spelled(hint) }, () => {
    out.text(`${why}.`);
    out.notice(`  ${out.spelled(hint)}`);
  });
  return EXIT_NOT_RUNNING;
}

async function absenceOfBox(box: BrokerBox, { message, hint }: PalaceError): Promise<Absence> {
  const isRunning = await isBoxRunning(box).catch(() => undefined);
  if (isRunning === false)
    return { why: `The broker's container ${box.container} is stopped`, hint: "palace start", stoppedByHand: true };
  return { why: message.replace(/^./, (first) => first.toUpperCase()), hint, stoppedByHand: false };
}

type Absence = { why: string; hint: string; stoppedByHand: boolean; home?: string; endpoint?: string };

/** Describes a missing broker and what to type. For a broker on another machine it says nothing about this machine's palace. */
function absence(config: Config): Absence {
  const { paths, endpoint } = config;
  const elsewhere = { stoppedByHand: false, ...(endpoint !== undefined && { endpoint }) };
  if (isBridged(config)) {
    const missing = missingBridge(config);
    if (missing !== undefined) return { why: missing.message, hint: missing.hint, ...elsewhere };
    const target = readSettings(paths)?.target ?? "the host";
    return { why: `No broker answers over the bridge to ${target}`, hint: "palace bridge status", ...elsewhere };
  }
  if (endpoint !== undefined) {
    const { message, hint } = unanswered(endpoint);
    return { why: message.replace(/^n/, "N"), hint, ...elsewhere };
  }
  const gone = vanishedPalace(paths);
  const stoppedByHand = isStopped(paths);
  if (gone !== undefined)
    return { why: `No broker is running: ${gone.message}`, hint: gone.hint, stoppedByHand, home: paths.home };
  return {
    why: `No broker is running for ${paths.home}${stoppedByHand ? "; it was stopped by hand" : ""}`,
    hint: stoppedByHand ? "palace start" : "the next agent starts it; or: palace start",
    ...{ stoppedByHand, home: paths.home },
  };
}

type Row = [string, string];

function describe(status: StatusReport, endpoint: string, erasure: string | undefined): Row[] {
  const { queue, engine } = status;
  return [
    [
      "broker",
      `${status.state}, version ${status.version}, pid ${status.pid}, up ${formatDuration(Date.now() - status.startedAtMs)}`,
    ],
    ["door", endpoint],
    // The door that we used comes first, then the other doors.
    ...status.doors
      .map(formatEndpoint)
      .filter((door) => door !== endpoint)
      .map((door): Row => ["door", door]),
    ...describeOutcomeDoor(status),
    ["topology", status.topology],
    ...describeSettings(status),
    ["peers", `${status.peers}`],
    [
      "queue",
      `${queue.depth} of ${queue.depthMax} waiting, ${queue.acknowledged} acknowledged, ${queue.refused} refused`,
    ],
    // An older broker does not report its engine and always has the builtin engine.
    ...(engine?.kind === "command" ? describeCommand(status.home, engine) : describePalace(status)),
    ...(erasure === undefined ? [] : [["forgetting", erasure] as Row]),
    ...(status.error === undefined ? [] : [["error", `${status.error.message}; ${status.error.hint}`] as Row]),
  ];
}

function describeSettings({ settings = [] }: StatusReport): Row[] {
  const used = settings.map(({ key, variable }) => `${key} from ${variable ?? "settings.json"}`);
  return used.length === 0 ? [] : [["settings", used.join(", ")]];
}

function describeOutcomeDoor({ outcomeDoor: door }: StatusReport): Row[] {
  if (door === undefined) return [];
  const shut = door.state === "open" ? "" : ` is shut: ${printable(door.why)}; ${door.hint}`;
  return [["outcome door", `${addressOf(door)}${shut}`]];
}

function describePalace({ home, search, driver, ...status }: StatusReport): Row[] {
  const adoption = describeAdoption(status.adoption);
  const reranker = describeReranker(search);
  const embedded =
    search.pending === 0 || search.modelState === "extra"
      ? ""
      : `, ${search.pending} of ${search.pending + search.embedded} still to embed${describeRest(search.pendingMs)}`;
  return [
    [
      "palace",
      `${home}: ${plural(status.drawers, "drawer")} in ${plural(status.wings, "wing")}, ${formatBytes(status.ledgerSizeBytes)}`,
    ],
    ["search", `${describeMode(search)}${embedded}`],
    ...(reranker === undefined ? [] : [["cross-encoder", reranker] as Row]),
    ["driver", `${driver.kind}: ${driver.state}${describeLag(driver)}${withDetail(driver.detail)}`],
    ["closets", describeClosets(status.closets)],
    ["graph", describeGraph(status.graph)],
    ["palace lock", `${status.upstreamLock.state}${withDetail(status.upstreamLock.detail)}`],
    ["strays", describeForeignWriters(status.strays)],
    ...(adoption === undefined ? [] : [["adoption", adoption] as Row]),
  ];
}

function describeCommand(home: string, engine: Extract<EngineReport, { kind: "command" }>): Row[] {
  const { lastError } = engine;
  return [
    ["engine", `command, ${formatEngine(engine)}`],
    ...(lastError === null
      ? []
      : [["last error", `${formatDuration(Date.now() - lastError.atMs)} ago: ${printable(lastError.message)}`] as Row]),
    ["palace", `${home}; only the engine knows its content`],
  ];
}

function describeRest(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "" : `, about ${formatDuration(ms)} more`;
}

function withDetail(detail: string): string {
  return detail === "" ? "" : `, ${detail}`;
}

/** `same`: the rows without ages and remaining times, to notice whether anything else has changed. */
type Look = { document: object; rows: readonly (readonly [string, string])[]; same: readonly string[] };

const WATCH_MS = 1_000;
const HOME = "\u001B[H";
const CLEAR = "\u001B[2J";
const CLEAR_LINE = "\u001B[K";
const CLEAR_BELOW = "\u001B[J";

/** Calls `look` every second. Returns exit code 0 after Ctrl-C, and passes the errors of `look` on. */
async function watch(out: Output, look: () => Promise<Look>): Promise<number> {
  await endWithReader();
  return withInterrupt(async (signal) => {
    let last: readonly string[] | undefined;
    const isDrawn = out.isTerminal && !out.isJson;
    while (!signal.aborted) {
      const now = await look();
      if (isDrawn) draw(now, last === undefined, out.columns);
      else if (last?.join("\n") !== now.same.join("\n")) tellChange(out, now, last ?? []);
      last = now.same;
      await sleep(WATCH_MS, undefined, { signal }).catch(() => {});
    }
    return 0;
  });
}

/** Draws the rows over the previous ones. Cuts a line that is wider than the terminal, because a wrapped line would move the others. */
function draw({ rows }: Look, isFirst: boolean, columns: number): void {
  const height = process.stdout.rows || Infinity;
  const lines = alignRows(rows).map((line) => Array.from(line).slice(0, columns).join("") + CLEAR_LINE);
  const shown = lines.slice(0, Math.max(height - 2, 1));
  const end = `${CLEAR_LINE}\nCtrl-C ends this.${CLEAR_LINE}${CLEAR_BELOW}`;
  process.stdout.write(`${isFirst ? CLEAR : ""}${HOME}${shown.join("\n")}\n${end}\r`);
}

/** Prints one document, or a line with the time for each row that changed. */
function tellChange(out: Output, { document, rows, same }: Look, before: readonly string[]): void {
  if (out.isJson) return void out.document(document);
  const known = new Set(before);
  const at = new Date().toISOString();
  out.table(rows.filter((_row, nth) => !known.has(same[nth] ?? "")).map(([name, value]) => [at, name, value]));
}
