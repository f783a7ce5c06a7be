/** Refuses to open a door that other machines can reach while no token exists. */
import { PalaceError } from "../../base/errors.ts";
import { isLoopback, type TcpAddress } from "./listen.ts";

/** Refuses a public address while no token exists. `tokens`: number of tokens. Errors: CONFIG_BAD_VALUE. */
export function requireToken({ host, port }: TcpAddress, tokens: number): void {
  if (isLoopback(host) || tokens > 0) return;
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `${host}:${port} can be reached from elsewhere and there is no token yet`,
    "palace bridge token add NAME --role agent",
  );
}
