/** Finds the user at the other end of a loopback connection in the kernel's table of TCP sockets. Linux only. Source: proc(5). */
import { existsSync, readFileSync } from "node:fs";
import { endianness } from "node:os";
import { isIPv4 } from "node:net";
import { orElse } from "../../base/or-else.ts";

export type Connection = { client: { address: string; port: number }; server: { address: string; port: number } };

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Code of a connected socket's state. In other states, the kernel may show a socket as root's after its owner has ended. */
const ESTABLISHED = "01";
const UID_COLUMN = 7;

/** Returns true if the system has the table of TCP sockets. */
export function canTellOwners(): boolean {
  return existsSync("/proc/net/tcp");
}

/** Returns the uid of the client's socket; undefined if the system does not show it. */
export function socketOwner(connection: Connection): number | undefined {
  for (const table of TABLES) {
    const uid = ownerIn(textOf(table), connection);
    if (uid !== undefined) return uid;
  }
  return undefined;
}

export function ownerIn(
  table: string,
  { client, server }: Connection,
  isLittle = endianness() === "LE",
): number | undefined {
  if (!isIPv4(client.address)) return undefined;
  const [from, to] = [client, server].map(({ address, port }) => {
    const hex = port.toString(16).toUpperCase().padStart(4, "0");
    return [`${ipv4(address, isLittle)}:${hex}`, `${mapped(isLittle)}${ipv4(address, isLittle)}:${hex}`];
  });
  for (const line of table.split("\n")) {
    const columns = line.trim().split(/\s+/);
    const [, local = "", remote = "", state] = columns;
    if (state === ESTABLISHED && from?.includes(local) === true && to?.includes(remote) === true)
      return Number(columns[UID_COLUMN]);
  }
  return undefined;
}

/** Formats an address as the kernel does: 32 bits in the machine's byte order. */
function ipv4(address: string, isLittle: boolean): string {
  const bytes = address.split(".").map(Number);
  return Buffer.from(isLittle ? bytes.toReversed() : bytes)
    .toString("hex")
    .toUpperCase();
}

/** Returns the first 96 bits of an IPv6 address that contains an IPv4 address. */
function mapped(isLittle: boolean): string {
  return `0000000000000000${isLittle ? "FFFF0000" : "0000FFFF"}`;
}

function textOf(file: string): string {
  return orElse(() => readFileSync(file, "latin1"), "");
}
