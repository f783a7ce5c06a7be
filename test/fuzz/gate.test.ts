/** Attacks the host's end of a bridge: the gate's socket, keys to authorize, output before the gate's greeting. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { authorizeKey, revokeKey } from "../../src/wire/bridge/authorized-keys.ts";
import { readSettings, readState } from "../../src/wire/bridge/settings.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";
import { message } from "./rpc-messages.ts";

const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "palace-fuzz-gate-"));
let palace: TestPalace | undefined;
let pid: number | undefined;

beforeAll(async () => {
  palace = createTestPalace({ env: { NODE_OPTIONS: "--max-old-space-size=256" } });
  ({ pid } = await palace.startBroker());
});
afterAll(async () => {
  await palace?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const UPGRADE = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n";
const STOP = `${JSON.stringify({ jsonrpc: "2.0", id: "stop", method: "broker.stop", params: {} })}\n`;

fuzz<Buffer[]>("gate-bytes", {
  count: 2_000,
  lanes: 8,
  generate: (chooser) => {
    const head = chooser.chance(0.8) ? Buffer.from(UPGRADE) : chooser.damaged(Buffer.from(UPGRADE));
    const lines = Array.from({ length: chooser.between(0, 3) }, () =>
      chooser.chance(0.2) ? Buffer.from(STOP) : Buffer.concat([message(chooser), Buffer.from("\n")]),
    );
    return chooser.pieces(Buffer.concat([head, ...lines]), 4);
  },
  check: async (pieces) => {
    const socket = connect(palace?.config.paths.gatePath ?? "");
    let heard = "";
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => (heard = (heard + bytes.toString("latin1")).slice(-100_000)));
    for (const piece of pieces) socket.write(piece);
    socket.end();
    const late = setTimeout(() => socket.destroy(), 30_000);
    await new Promise((resolve) => socket.once("close", resolve));
    clearTimeout(late);
    // A peer behind the gate may not stop the broker.
    expect(heard).not.toContain('"stopping":true');
    expect(heard).not.toContain("INTERNAL");
  },
  finish: async () => {
    const client = await palace?.client();
    expect((await client?.call("palace.status", {}))?.pid).toBe(pid);
    client?.close();
  },
});

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJg3a0CbEWs2Vnr5Mi4P0S8cYxY1U8x0xwK5rhzJ4m1Q box";
const OTHERS = ["# mine", "ssh-rsa AAAA me@home", "", "restrict ssh-ed25519 BBBB other"];

function key(chooser: Chooser): string {
  const bent = chooser.pick([
    KEY,
    `${KEY}\n${KEY}`,
    `command="sh" ${KEY}`,
    `${KEY} "\\" \n no-pty`,
    `ssh-ed25519 ${chooser.text()}`,
    chooser.text(),
    `${KEY}${chooser.text()}`,
  ]);
  return chooser.chance(0.3) ? chooser.damaged(Buffer.from(bent)).toString("utf8") : bent;
}

fuzz<{ text: string; command: string[] }>("gate-keys", {
  count: 5_000,
  generate: (chooser) => ({
    text: key(chooser),
    command: [
      "node",
      `/a path/${chooser.text().replaceAll("\0", "")}`,
      chooser.pick(["gate", '"', "'", "\\", "$(id)", "`id`"]),
    ],
  }),
  check: ({ text, command }) => {
    const file = join(folder, "authorized_keys");
    const before = `${OTHERS.join("\n")}\n`;
    writeFileSync(file, before);
    try {
      authorizeKey(file, text, command, false);
    } catch (error) {
      expect(error).toBeInstanceOf(PalaceError);
      expect(readFileSync(file, "utf8")).toBe(before);
      return;
    }
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    // The file has one more line: options and a well-formed key.
    expect(lines.slice(0, OTHERS.length)).toEqual(OTHERS);
    expect(lines.length).toBe(OTHERS.length + 1);
    expect(lines.at(-1)).toMatch(
      /^restrict,command="(?:[^"\\]|\\.|\\)*" ssh-ed25519 [A-Za-z0-9+/]+={0,2} palace-bridge$/,
    );
    expect(revokeKey(file, text)).toBe(true);
    expect(readFileSync(file, "utf8")).toBe(before);
  },
});

fuzz<{ settings: Buffer; state: Buffer }>("bridge-files", {
  count: 5_000,
  generate: (chooser) => ({
    settings: chooser.damaged(Buffer.from(chooser.json())),
    state: chooser.damaged(Buffer.from(chooser.json())),
  }),
  check: ({ settings, state }) => {
    writeFileSync(join(folder, "bridge.json"), settings);
    writeFileSync(join(folder, "state.json"), state);
    const paths = { bridgeDir: folder, bridgeSocketPath: join(folder, "socket") };
    const read = readSettings(paths);
    if (read !== undefined) expect(read.schema).toBe(1);
    expect(() => readState(paths)).not.toThrow();
  },
});
