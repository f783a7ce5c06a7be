/** ssh2 sometimes makes an unreadable ed25519 key pair. A setup that got one failed for ever, because the pair was kept. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ssh2 from "ssh2";
import { expect, test } from "vitest";
import { ensureKey } from "../../src/wire/bridge/key.ts";
import { keyFile } from "../../src/wire/bridge/settings.ts";

const PAIRS_MAX = 20_000;

test("an unreadable key pair is replaced, and a readable key pair stays", () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-key-"));
  try {
    const paths = { bridgeDir: join(folder, "bridge"), bridgeSocketPath: "" };
    mkdirSync(paths.bridgeDir);
    const bad = findBadPair();
    writeFileSync(keyFile(paths), bad.private);
    writeFileSync(`${keyFile(paths)}.pub`, bad.public);
    const made = ensureKey(paths);
    expect(made).not.toBe(bad.public.trim());
    expect(ssh2.utils.parseKey(readFileSync(keyFile(paths)))).not.toBeInstanceOf(Error);
    expect(statSync(keyFile(paths)).mode & 0o777).toBe(0o600);
    expect(ensureKey(paths)).toBe(made);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Finds an unreadable pair. If this fails, ssh2 no longer has the fault, and key.ts does not need its check. */
function findBadPair(): { public: string; private: string } {
  for (let made = 0; made < PAIRS_MAX; made++) {
    const pair = ssh2.utils.generateKeyPairSync("ed25519");
    if (ssh2.utils.parseKey(pair.private) instanceof Error) return pair;
  }
  throw new Error(`none of ${PAIRS_MAX} pairs is bad`);
}
