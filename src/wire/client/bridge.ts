/** Tells a client whether a bridge is set up and what the bridge's resident reports. Loads no SSH. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";
import { badValue, PalaceError } from "../../base/errors.ts";

const PORT_MAX = 65_535;

/** Returns true if a bridge is set up. Checks the parent folder first, because `bridgeDir` needs a hash, which slows a shim's start. */
export function hasBridge({ paths }: Config): boolean {
  return existsSync(paths.bridgeRoot) && existsSync(join(paths.bridgeDir, "bridge.json"));
}

const SSH_ENDPOINT = /^ssh:\/\/(?:(\w[\w.+-]*)@)?(?:\[([\da-fA-F:]+)\]|(\w[\w.-]*))(?::(\d{1,5}))?\/?$/;

/** Returns true if MEMPALACE_BROKER is an ssh:// address, or if it is not set and a bridge is set up. */
export function isBridged(config: Config): boolean {
  return config.endpoint === undefined ? hasBridge(config) : config.endpoint.startsWith("ssh:");
}

/** Returns an error if MEMPALACE_BROKER asks for another bridge than the one that is set up here. Errors: CONFIG_BAD_VALUE. */
export function missingBridge(config: Config): PalaceError | undefined {
  const { endpoint, paths } = config;
  if (!endpoint?.startsWith("ssh:")) return undefined;
  const [, user, six, name, port] = SSH_ENDPOINT.exec(endpoint) ?? [];
  const host = six ?? name;
  if (host === undefined || Number(port ?? 0) > PORT_MAX)
    throw badValue(`MEMPALACE_BROKER=${endpoint} names no host`, "write ssh://user@host or ssh://user@host:port");
  const known = hasBridge(config) ? readRecord(join(paths.bridgeDir, "bridge.json")) : {};
  const { target } = known;
  const isHost = host === known["host"] || (typeof target === "string" && host === target.replace(/^[^@]+@/, ""));
  const isRest = (user ?? known["user"]) === known["user"] && Number(port ?? known["port"]) === known["port"];
  if (isHost && isRest) return undefined;
  const asked = `${user === undefined ? "" : `${user}@`}${host}`;
  const here = typeof target === "string" ? `the bridge set up here leads to ${target}` : "none is set up here";
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `MEMPALACE_BROKER asks for the bridge to ${asked}${port === undefined ? "" : `:${port}`}, and ${here}`,
    `palace bridge setup ${asked}${port === undefined ? "" : ` --port ${port}`}`,
  );
}

/** Returns true if the resident's last report is that the bridge is connected. */
export function isBridgeUp({ paths }: Config): boolean {
  return readRecord(join(paths.bridgeDir, "state.json"))["state"] === "connected";
}

/** Returns why the bridge has failed since `sinceMs`, or undefined if it has not failed. */
export function bridgeFault({ paths }: Config, sinceMs: number): PalaceError | undefined {
  const { state, atMs, why, hint } = readRecord(join(paths.bridgeDir, "state.json"));
  if (state !== "down" || typeof atMs !== "number" || atMs < sinceMs) return undefined;
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `the bridge does not reach the host: ${String(why)}`,
    typeof hint === "string" && hint !== "" ? hint : "palace bridge status",
  );
}
