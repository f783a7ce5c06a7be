/** `palace status`: what the broker says of itself. Starts nothing. */
import { missingBridge } from "../../client/bridge.ts";
import { connectClient } from "../../client/client.ts";
import { findBroker } from "../../client/discover.ts";
import { isStopped } from "../../platform/marks.ts";
import type { EngineReport, StatusReport } from "../../protocol/spec.ts";
import { formatEndpoint } from "../../transport/endpoint.ts";
import { describeClosets } from "../closets.ts";
import { describeGraph } from "../graph.ts";
import { describeAdoption, describeStrays } from "../strays.ts";
import { formatBytes, formatDuration, formatEngine, plural, printable } from "../output.ts";
import { spelled } from "../spelling.ts";
import { defineVerb } from "../verb.ts";

const EXIT_NOT_RUNNING = 3;

export const verb = defineVerb({
  usage: `palace status

Shows the running broker, its queue, the search and the palace. Starts nothing; exit code 3 when no broker is running.`,
  options: {},
  args: [0, 0],
  run: async ({ config, out }) => {
    const found = await findBroker(config);
    if (found === undefined) {
      const isHeld = isStopped(config.paths);
      if (out.isJson) out.document({ running: false, stoppedByHand: isHeld, home: config.paths.home });
      else {
        out.text(`No broker is running for ${config.paths.home}${isHeld ? "; it was stopped by hand" : ""}.`);
        const missing = missingBridge(config);
        if (missing !== undefined) out.notice(spelled(`  ${missing.message}: ${missing.hint}`));
        else out.notice(spelled(isHeld ? "  palace start" : "  the next agent starts it; or: palace start"));
      }
      return EXIT_NOT_RUNNING;
    }
    const client = await connectClient({ config, agent: "palace status", start: "never" });
    const status = await client.call("palace.status", {});
    client.close();
    if (out.isJson) out.document({ running: true, endpoint: found.endpoint, ...status });
    else out.table(describe(status, found.endpoint));
    return 0;
  },
});

type Row = [string, string];

function describe(status: StatusReport, endpoint: string): Row[] {
  const { queue, engine } = status;
  return [
    [
      "broker",
      `${status.state}, version ${status.version}, pid ${status.pid}, up ${formatDuration(Date.now() - status.startedAtMs)}`,
    ],
    ["door", endpoint],
    // Those we did not come in by.
    ...status.doors
      .map(formatEndpoint)
      .filter((door) => door !== endpoint)
      .map((door): Row => ["door", door]),
    ["topology", status.topology],
    ["peers", `${status.peers}`],
    [
      "queue",
      `${queue.depth} of ${queue.depthMax} waiting, ${queue.acknowledged} acknowledged, ${queue.refused} refused`,
    ],
    // A broker of before has no other engine.
    ...(engine?.kind === "command" ? describeCommand(status.home, engine) : describePalace(status)),
    ...(status.error === undefined ? [] : [["error", `${status.error.message}; ${status.error.hint}`] as Row]),
  ];
}

function describePalace({ home, search, driver, ...status }: StatusReport): Row[] {
  const adoption = describeAdoption(status.adoption);
  const embedded =
    search.pending === 0 ? "" : `, ${search.pending} of ${search.pending + search.embedded} still to embed`;
  const lag = driver.lag === 0 ? "" : `, ${plural(driver.lag, "drawer")} behind for ${formatDuration(driver.lagMs)}`;
  return [
    [
      "palace",
      `${home}: ${plural(status.drawers, "drawer")} in ${plural(status.wings, "wing")}, ${formatBytes(status.ledgerSizeBytes)}`,
    ],
    [
      "search",
      `${search.mode} (${search.model ?? "no model"}: ${search.modelState}${withDetail(search.modelDetail)}${embedded})`,
    ],
    ["driver", `${driver.kind}: ${driver.state}${lag}${withDetail(driver.detail)}`],
    ["closets", describeClosets(status.closets)],
    ["graph", describeGraph(status.graph)],
    ["palace lock", `${status.upstreamLock.state}${withDetail(status.upstreamLock.detail)}`],
    ["strays", describeStrays(status.strays)],
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
    ["palace", `${home}; what is in it only the engine knows`],
  ];
}

function withDetail(detail: string): string {
  return detail === "" ? "" : `, ${detail}`;
}
