/** Reads which TCP doors a broker opens besides its socket. Used by config.ts. */
import { PalaceError } from "../base/errors.ts";
import { type Env, readVariable } from "./env.ts";

export type Doors = Readonly<{
  /**
   * TCP door to open besides the socket. The host `docker` means the address that containers reach. Undefined: not set.
   */
  listen: Readonly<{ host: string; port: number }> | "off" | undefined;
  /** Port of the door for programs that speak Roampal's HTTP API. Undefined: not set. */
  outcomePort: number | "off" | undefined;
}>;

/** Roampal's own. */
const OUTCOME_PORT = 27_182;

/** Errors: CONFIG_BAD_VALUE. */
export function readDoors(env: Env): Doors {
  return { listen: listenAddress(env), outcomePort: outcomePort(env) };
}

function listenAddress(env: Env): Doors["listen"] {
  const value = readVariable(env, "MEMPALACE_LISTEN");
  if (value === undefined || value === "off") return value;
  const match = /^tcp:\/\/(?:\[([0-9a-fA-F:]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `MEMPALACE_LISTEN=${value} is no address to listen at`,
    "export MEMPALACE_LISTEN=tcp://127.0.0.1:7780",
  );
}

function outcomePort(env: Env): Doors["outcomePort"] {
  const value = readVariable(env, "MEMPALACE_OUTCOME_PORT")?.trim();
  if (value === undefined || value === "off") return value;
  if (value === "on") return OUTCOME_PORT;
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port > 0 && port <= 65_535) return port;
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `MEMPALACE_OUTCOME_PORT=${value} is no port, and not one of on, off`,
    `export MEMPALACE_OUTCOME_PORT=${OUTCOME_PORT}`,
  );
}
