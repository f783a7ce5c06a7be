/** Tests that the broker finds the address for `tcp://docker:PORT` in the kernel's tables. */
import { expect, test } from "vitest";
import { bridgeAddress } from "../../../src/broker/door/listen.ts";

const ROUTES = [
  "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT",
  "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0",
  "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
  "",
].join("\n");
const TRIE = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 172.17.0.0
        /16 link UNICAST
     |-- 172.17.0.1
        /32 host LOCAL
     |-- 172.17.255.255
        /32 link BROADCAST
     |-- 192.0.2.2
        /32 host LOCAL
`;

test("the address of Docker's bridge is found without an attached container", () => {
  expect(bridgeAddress(ROUTES, TRIE)).toBe("172.17.0.1");
});

test("without a Docker bridge in the kernel's tables the address is undefined", () => {
  expect(bridgeAddress(ROUTES.replace("docker0", "br-x"), TRIE)).toBeUndefined();
  expect(bridgeAddress(ROUTES, TRIE.replace("172.17.0.1\n", "10.0.0.1\n"))).toBeUndefined();
});
