/** `palace status`: what the broker says of itself. Starts nothing. */
import { connectClient } from "../../client/client.ts";
import { findBroker } from "../../client/discover.ts";
import { isStopped } from "../../platform/marks.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { formatEndpoint } from "../../transport/endpoint.ts";
import { describeStrays } from "../strays.ts";
import { formatBytes, formatDuration, plural } from "../output.ts";
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
        out.notice(isHeld ? "  palace start" : "  the next agent starts it; or: palace start");
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

function describe(status: StatusReport, endpoint: string): [string, string][] {
  const { search, driver, queue, upstreamLock, strays } = status;
  const embedded =
    search.pending === 0 ? "" : `, ${search.pending} of ${search.pending + search.embedded} still to embed`;
  const lag = driver.lag === 0 ? "" : `, ${plural(driver.lag, "drawer")} behind for ${formatDuration(driver.lagMs)}`;
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
      .map((door): [string, string] => ["door", door]),
    ["topology", status.topology],
    [
      "palace",
      `${status.home}: ${plural(status.drawers, "drawer")} in ${plural(status.wings, "wing")}, ${formatBytes(status.ledgerSizeBytes)}`,
    ],
    ["peers", `${status.peers}`],
    [
      "queue",
      `${queue.depth} of ${queue.depthMax} waiting, ${queue.acknowledged} acknowledged, ${queue.refused} refused`,
    ],
    [
      "search",
      `${search.mode} (${search.model ?? "no model"}: ${search.modelState}${withDetail(search.modelDetail)}${embedded})`,
    ],
    ["driver", `${driver.kind}: ${driver.state}${lag}${withDetail(driver.detail)}`],
    ["palace lock", `${upstreamLock.state}${withDetail(upstreamLock.detail)}`],
    ["strays", describeStrays(strays)],
    ...(status.error === undefined
      ? []
      : [["error", `${status.error.message}; ${status.error.hint}`] as [string, string]]),
  ];
}

function withDetail(detail: string): string {
  return detail === "" ? "" : `, ${detail}`;
}
