/** How a client came to its broker, and who answered there, for `palace doctor`. Imported by report/checks.ts. */
import { readSettings } from "../../wire/bridge/settings.ts";
import { readBrokerFile } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import { VERSION } from "../../base/version.ts";
import type { Health } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";
import { formatEndpoint } from "../../wire/transport/endpoint.ts";
import { brokerBox } from "../docker/owner.ts";
import { type Check, fail, ok, warn } from "./check.ts";

export function cameOverBridge({ paths }: Config, endpoint: string): boolean {
  return endpoint === formatEndpoint({ kind: "unix", path: paths.bridgeSocketPath });
}

/** A broker does not know where its clients are: what it says of itself counts for who reaches it on its own machine. */
export function checkTopology(config: Config, { topology }: Health, endpoint: string): Check {
  const there = `; the broker there says ${topology}`;
  if (cameOverBridge(config, endpoint)) {
    const box = brokerBox(config);
    if (box !== undefined) return ok("topology", `through this machine's engine into ${box.container}${there}`);
    const bridge = readSettings(config.paths);
    return ok("topology", `over SSH (${bridge?.kind ?? "gate"}) to ${bridge?.target ?? "the host"}${there}`);
  }
  return ok("topology", endpoint.startsWith("http:") ? `over TCP${there}` : topology);
}

/** broker.json is a hint; only the handshake proves who answers. */
export function checkInstance(config: Config, health: Health, endpoint: string): Check {
  if (cameOverBridge(config, endpoint)) {
    const proof =
      brokerBox(config) === undefined ? "SSH has proved the host it is on" : "the engine names its container";
    return ok("instance", `${health.instanceId}; ${proof}`);
  }
  if (config.endpoint !== undefined)
    return ok("instance", `${health.instanceId}; broker.json is not asked with MEMPALACE_BROKER`);
  const named = readBrokerFile(config.paths.brokerFile)?.instanceId;
  if (named === health.instanceId) return ok("instance", `${health.instanceId}, the same in broker.json and handshake`);
  return fail("instance", `broker.json names ${named ?? "nobody"}, ${health.instanceId} answers`, "palace restart");
}

export function checkVersion(config: Config, { version, protocol }: Health): Check {
  const detail = `broker ${version} speaks ${protocol.min}-${protocol.max}, this client ${PROTOCOL.min}-${PROTOCOL.max}`;
  if (version === VERSION) return ok("protocol", detail);
  const hint = brokerBox(config) === undefined ? "palace restart" : "palace devbox recreate";
  return warn("protocol", `${detail}; their versions differ`, hint);
}
