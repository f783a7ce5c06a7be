/** A client trusted an invalid `broker.json`, and connected to doors that no broker has. Found by fuzzing. */
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openStream, readBrokerFile } from "../../../src/wire/client/discover.ts";
import { dial } from "../../../src/wire/transport/endpoint.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const DISCOVER = resolve(import.meta.dirname, "../../../src/wire/client/discover.ts");

test.each([
  ["a number for a socket", (port: number) => ({ kind: "unix", path: port })],
  ["digits for a socket", (port: number) => ({ kind: "unix", path: String(port) })],
  ["an address for a socket", (port: number) => ({ kind: "unix", path: { port, host: "127.0.0.1" } })],
  ["an unknown kind of door", (port: number) => ({ kind: "ssh", port, host: "127.0.0.1" })],
])("the client does not connect over TCP if broker.json has %s", async (_name, door) => {
  await using palace = createTestPalace({ env: { MEMPALACE_TOKEN: `pdx_abcdefgh_${"x".repeat(43)}` } });
  let dialled = 0;
  const trap = createServer((socket) => {
    dialled += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(trap, "listening");
  const { port } = trap.address() as AddressInfo;
  const { home, brokerFile } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  writeFileSync(brokerFile, JSON.stringify({ schema: 1, instanceId: "x", doors: [door(port)] }));
  expect(await openStream(palace.config, "test")).toBeUndefined();
  await expect(dial({ kind: "unix", path: String(port) })).rejects.toMatchObject({ code: "TRANSPORT_REFUSED" });
  expect(dialled).toBe(0);
  trap.close();
});

test("the client reads fewer than ten of a hundred doors in a broker.json, and ignores a file of a megabyte", () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-"));
  const file = join(folder, "broker.json");
  const text = (doors: number, padding: string): string =>
    JSON.stringify({ schema: 1, instanceId: "x", padding, doors: Array(doors).fill({ kind: "unix", path: "/s" }) });
  writeFileSync(file, text(100, ""));
  expect(readBrokerFile(file)?.doors.length).toBeLessThan(10);
  writeFileSync(file, text(1, "x".repeat(1_000_000)));
  expect(readBrokerFile(file)).toBeUndefined();
  rmSync(folder, { recursive: true });
});

test("the client ignores a pipe in place of broker.json without waiting", () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-"));
  const pipe = join(folder, "broker.json");
  execFileSync("mkfifo", [pipe]);
  const read = `import(${JSON.stringify(DISCOVER)}).then(({ readBrokerFile }) => console.log(readBrokerFile(process.argv[1])))`;
  const { stdout, signal } = spawnSync(process.execPath, ["-e", read, pipe], { encoding: "utf8", timeout: 15_000 });
  expect([stdout.trim(), signal]).toEqual(["undefined", null]);
  rmSync(folder, { recursive: true });
});
