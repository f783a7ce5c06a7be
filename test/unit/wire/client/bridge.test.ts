/** `MEMPALACE_BROKER=ssh://…` means the bridge to that host, user and port. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bridgeFault, missingBridge } from "../../../../src/wire/client/bridge.ts";
import { type Config, loadConfig } from "../../../../src/config/config.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bridge-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const asking = (broker: string): Config => loadConfig({ HOME: home, MEMPALACE_BROKER: broker });

function setUp(bridge: Record<string, unknown>): void {
  const { paths } = asking("ssh://any");
  mkdirSync(paths.bridgeDir, { recursive: true });
  writeFileSync(join(paths.bridgeDir, "bridge.json"), JSON.stringify(bridge));
}

test.each(["ssh://", "ssh://ada@", "ssh://host:65536", "ssh://a b", "ssh://host/path"])(
  "%s is refused as an invalid host",
  (broker) => {
    setUp({ target: "ada@host", host: "host", user: "ada", port: 22 });
    expect(() => missingBridge(asking(broker))).toThrow(expect.objectContaining({ code: "CONFIG_BAD_VALUE" }));
  },
);

test.each(["ssh://host", "ssh://ada@host", "ssh://host:22", "ssh://ada@host:22/", "ssh://alias"])(
  "%s matches the bridge of this machine",
  (broker) => {
    setUp({ target: "ada@alias", host: "host", user: "ada", port: 22 });
    expect(missingBridge(asking(broker))).toBeUndefined();
  },
);

test.each([
  ["ssh://other", "palace bridge setup other"],
  ["ssh://bob@host", "palace bridge setup bob@host"],
  ["ssh://ada@host:65535", "palace bridge setup ada@host --port 65535"],
  ["ssh://ada@[fe80::1]", "palace bridge setup ada@fe80::1"],
])("%s matches no bridge, and the hint gives the command that sets up this bridge", (broker, hint) => {
  setUp({ target: "ada@host", host: "host", user: "ada", port: 22 });
  expect(missingBridge(asking(broker))).toMatchObject({ code: "TRANSPORT_REFUSED", hint });
});

test("without a bridge every ssh:// address causes an error", () => {
  expect(missingBridge(asking("ssh://host"))?.message).toContain("none is set up here");
  expect(missingBridge(asking("tcp://127.0.0.1:7780"))).toBeUndefined();
});

test.each([
  ["with a hint", { hint: "ssh-add" }, "ssh-add"],
  ["with an empty hint", { hint: "" }, "palace bridge status"],
  ["without a hint", {}, "palace bridge status"],
])("a fault of the bridge %s has a hint with a command", (_what, more, hint) => {
  const config = asking("ssh://host");
  setUp({});
  const state = { state: "down", atMs: 2_000, why: "no key", ...more };
  writeFileSync(join(config.paths.bridgeDir, "state.json"), JSON.stringify(state));
  expect(bridgeFault(config, 1_000)).toMatchObject({ message: "the bridge does not reach the host: no key", hint });
});
