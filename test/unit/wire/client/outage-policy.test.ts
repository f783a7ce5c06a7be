/** Tests the two state machines that decide what happens to a call without a broker. */
import { expect, test } from "vitest";
import {
  dialTimeoutMs,
  fateOfAnswered,
  fateOfNew,
  fateOfRepeated,
  fateOfSilent,
  fateOfUnreachable,
  nextPresence,
  type Presence,
  type Sighting,
} from "../../../../src/wire/client/outage-policy.ts";
import { PalaceError } from "../../../../src/base/errors.ts";

const PRESENCES: readonly Presence[] = ["unknown", "present", "refusing", "lost", "absent"];

test.each<[Sighting, readonly Presence[]]>([
  ["connected", ["present", "present", "present", "present", "present"]],
  ["took the spool", ["unknown", "present", "present", "lost", "absent"]],
  // If the connection was lost during the delivery of the spool, the result says nothing about the next broker.
  ["refused the spool", ["unknown", "refusing", "refusing", "lost", "absent"]],
  ["ended", ["lost", "lost", "lost", "lost", "lost"]],
  ["outage", ["absent", "absent", "absent", "absent", "absent"]],
])("the event `%s` changes the broker's states to %j", (sighting, expected) => {
  expect(PRESENCES.map((presence) => nextPresence(presence, sighting))).toEqual(expected);
});

test("a command waits up to 10 s for a broker that was there, and a link with a spool waits at most 0.7 s", () => {
  expect(PRESENCES.map((presence) => dialTimeoutMs(presence, false))).toEqual([500, 10_000, 10_000, 10_000, 0]);
  expect(PRESENCES.map((presence) => dialTimeoutMs(presence, true))).toEqual([700, 700, 700, 700, 0]);
});

test("a new call is sent or waits for a connection, but a write is answered offline while the broker refuses writes", () => {
  const fates = (isConnected: boolean, isWrite: boolean): unknown[] =>
    PRESENCES.map((presence) => fateOfNew(presence, isConnected, () => isWrite));
  expect(fates(true, true)).toEqual(["send", "send", "answer offline", "send", "send"]);
  expect(fates(true, false)).toEqual(["send", "send", "send", "send", "send"]);
  expect(fates(false, false)).toEqual(["wait", "wait", "wait", "wait", "wait"]);
});

test("a call that the broker did not accept waits for the next broker or is sent again", () => {
  expect(fateOfAnswered(undefined, 0)).toBe("pass on");
  expect(fateOfAnswered({ code: "STORE_DISK_FULL" }, 0)).toBe("pass on");
  expect(fateOfAnswered({ code: "BROKER_SHUTTING_DOWN" }, 100_000)).toBe("wait");
  expect(fateOfAnswered({ code: "BROKER_BUSY", retryAfterMs: 60 }, 0)).toEqual({ sendAgainAfterMs: 60 });
  expect(fateOfAnswered({ code: "BROKER_BUSY" }, 44_999)).toEqual({ sendAgainAfterMs: 1_000 });
  expect(fateOfAnswered({ code: "BROKER_BUSY" }, 45_000)).toBe("pass on");
  expect([60_000, 60_001].map(fateOfRepeated)).toEqual(["wait", "give up"]);
});

test("a call waits while a bridge works or a broker starts; in state absent it does not wait for a starting broker", () => {
  expect(PRESENCES.map((presence) => fateOfSilent(presence, true, false))).toEqual([
    ...["wait", "wait", "wait", "wait"],
    "answer offline",
  ]);
  expect(fateOfSilent("absent", false, true)).toBe("wait");
  expect(fateOfSilent("lost", false, false)).toBe("answer offline");
});

test("a request is answered without a broker only after an outage", () => {
  const fate = (code: ConstructorParameters<typeof PalaceError>[0], spools = true): string =>
    fateOfUnreachable(new PalaceError(code, "x", ""), spools);
  for (const code of ["TRANSPORT_REFUSED", "STORE_READ_ONLY", "BROKER_STOPPED", "PALACE_FOREIGN_MOUNT"] as const)
    expect([fate(code), fate(code, false)]).toEqual(["answer offline", "give up"]);
  for (const code of ["PROTOCOL_VERSION_MISMATCH", "CONFIG_BAD_VALUE", "BROKER_DENIED", "PALACE_GONE"] as const)
    expect(fate(code)).toBe("give up");
});
