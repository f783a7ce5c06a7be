/** A client accepts broker.json only if it is a small regular file of the right form, and accepts only valid addresses from this file. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBrokerFile } from "../../../../src/wire/client/discover.ts";

let home: string;
let file: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "discover-"));
  file = join(home, "broker.json");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const UNIX = { kind: "unix", path: "/run/palace.sock" };
const TCP = { kind: "tcp", host: "::1", port: 65_535 };

function read(more: Record<string, unknown>): ReturnType<typeof readBrokerFile> {
  writeFileSync(file, JSON.stringify({ schema: 1, instanceId: "i", home, doors: [UNIX], ...more }));
  return readBrokerFile(file);
}

test.each([
  ["a relative path", { kind: "unix", path: "palace.sock" }],
  ["a path with a NUL", { kind: "unix", path: "/run/\0" }],
  ["a path that is not a text", { kind: "unix", path: 7 }],
  ["a host that is not a text", { kind: "tcp", host: 127, port: 1 }],
  ["a host with a blank", { kind: "tcp", host: "a b", port: 1 }],
  ["a port that is text", { kind: "tcp", host: "h", port: "1" }],
  ["port 0", { kind: "tcp", host: "h", port: 0 }],
  ["port 65,536", { kind: "tcp", host: "h", port: 65_536 }],
  ["a port with a fraction", { kind: "tcp", host: "h", port: 1.5 }],
  ["another kind", { kind: "pipe", path: "/run/p" }],
  ["nothing", null],
])("the client drops a door with %s and keeps the other doors", (_what, door) => {
  expect(read({ doors: [door, UNIX, TCP] })?.doors).toEqual([UNIX, TCP]);
});

test("the client reads at most four doors from broker.json", () => {
  expect(read({ doors: Array.from({ length: 9 }, () => TCP) })?.doors).toHaveLength(4);
});

test.each([{ schema: 2 }, { instanceId: 7 }, { doors: UNIX }])("the client refuses a broker.json with %j", (more) => {
  expect(read(more)).toBeUndefined();
});

test("the client refuses a broker.json that is a folder, is invalid JSON or has more than 16 KiB", () => {
  expect(readBrokerFile(home)).toBeUndefined();
  writeFileSync(file, "{");
  expect(readBrokerFile(file)).toBeUndefined();
  expect(read({ more: "x".repeat(15_000) })).toBeDefined();
  expect(read({ more: "x".repeat(16_384) })).toBeUndefined();
});

test("the client ignores a copy of broker.json while the original file has the same instance id", () => {
  read({});
  const copy = join(home, "copy/broker.json");
  mkdirSync(join(home, "copy"));
  copyFileSync(file, copy);
  expect(readBrokerFile(copy)).toBeUndefined();
  read({ instanceId: "another" });
  expect(readBrokerFile(copy)).toMatchObject({ instanceId: "i" });
  rmSync(file);
  expect(readBrokerFile(copy)).toMatchObject({ instanceId: "i" });
});
