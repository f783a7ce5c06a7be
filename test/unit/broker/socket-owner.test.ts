/** Tests that the broker finds the user at the other end of a connection in the kernel's table (proc(5)). */
import { expect, test } from "vitest";
import { type Connection, ownerIn } from "../../../src/broker/door/socket-owner.ts";

const HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n";
const row = (local: string, remote: string, state: string, uid: number): string =>
  `   4: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 4711 1 0000000000000000 100 0 0 10 0\n`;
const pair = (clientPort: number): Connection => ({
  client: { address: "127.0.0.1", port: clientPort },
  server: { address: "127.0.0.1", port: 27_182 },
});

test("the owner of a connection is the uid in the client's row of the kernel's table, if the connection is established", () => {
  const table =
    HEAD +
    row("0100007F:6A2E", "00000000:0000", "0A", 7) +
    row("0100007F:6A2E", "0100007F:C350", "01", 8) +
    row("0100007F:C351", "0100007F:6A2E", "06", 0) +
    row("0100007F:C350", "0100007F:6A2E", "01", 1000);
  expect(ownerIn(table, pair(50_000), true)).toBe(1000);
  // The client's process closed the connection. The row then has the uid of root, although root does not own the socket.
  expect(ownerIn(table, pair(50_001), true)).toBeUndefined();
  expect(ownerIn(table, pair(50_002), true)).toBeUndefined();
});

test("IPv4 addresses of IPv6 sockets are read in both byte orders", () => {
  const client = "0000000000000000FFFF00000100007F:C350";
  const server = "0000000000000000FFFF00000100007F:6A2E";
  expect(ownerIn(HEAD + row(client, server, "01", 1000), pair(50_000), true)).toBe(1000);
  const big = row("7F000001:C350", "7F000001:6A2E", "01", 1000);
  expect(ownerIn(HEAD + big, pair(50_000), false)).toBe(1000);
  expect(ownerIn(HEAD + big, pair(50_000), true)).toBeUndefined();
});

test("an invalid address has no owner", () => {
  const nobody = { client: { address: "", port: 0 }, server: { address: "127.0.0.1", port: 27_182 } };
  expect(ownerIn(HEAD + row(":0000", "0100007F:6A2E", "01", 0), nobody, true)).toBeUndefined();
  expect(ownerIn("", pair(50_000), true)).toBeUndefined();
});
