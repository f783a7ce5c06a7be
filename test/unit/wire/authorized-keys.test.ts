import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { authorizeKey, revokeKey } from "../../../src/wire/bridge/authorized-keys.ts";

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleQ== palace-bridge@box";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keys-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("an entry in authorized_keys is added and removed, and lines that are not UTF-8 stay byte for byte the same", () => {
  const file = join(folder, "authorized_keys");
  const others = Buffer.from('command="/home/jos\xe9/run" ssh-rsa AAAAB3Nza jos\xe9@home\r\n', "latin1");
  writeFileSync(file, others);
  expect(authorizeKey(file, KEY, ["/home/josé/palace", "gate"], false)).toBe(true);
  const lines = readFileSync(file);
  expect(lines.subarray(0, others.length).equals(others)).toBe(true);
  expect(lines.subarray(others.length).toString()).toMatch(
    /^restrict,command="'\/home\/josé\/palace' gate" ssh-ed25519 /,
  );
  expect(authorizeKey(file, KEY, ["/home/josé/palace", "gate"], false)).toBe(false);
  expect(revokeKey(file, KEY)).toBe(true);
  expect(readFileSync(file).equals(others)).toBe(true);
});
