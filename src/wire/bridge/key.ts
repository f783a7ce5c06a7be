/** Makes the bridge's key pair, in the file format of `ssh`. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import ssh2 from "ssh2";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { type BridgePaths, keyFile } from "./settings.ts";

/** Returns the public key as a line for `authorized_keys`. Makes the key pair if it is missing or unusable. */
export function ensureKey(paths: BridgePaths): string {
  const file = keyFile(paths);
  const known = readPair(file);
  if (known !== undefined && isUsable(known)) return known.public.trim();
  const pair = makePair();
  mkdirSync(paths.bridgeDir, { recursive: true, mode: 0o700 });
  writeFileAtomic(`${file}.pub`, `${pair.public}\n`);
  writeFileAtomic(file, pair.private);
  return pair.public.trim();
}

type Pair = { public: string; private: string };

function readPair(file: string): Pair | undefined {
  if (!existsSync(file) || !existsSync(`${file}.pub`)) return undefined;
  return { private: readFileSync(file, "utf8"), public: readFileSync(`${file}.pub`, "utf8") };
}

/** Makes pairs until one is usable, because a few in a thousand of ssh2 1.17's pairs are unreadable (ssh2 issue 1513). */
function makePair(): Pair {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync("ed25519", { comment: `palace-bridge@${hostname()}` });
    if (isUsable(pair)) return pair;
  }
}

function isUsable(pair: Pair): boolean {
  const secret = ssh2.utils.parseKey(pair.private);
  const open = ssh2.utils.parseKey(pair.public);
  if (secret instanceof Error || open instanceof Error) return false;
  const signature = secret.sign("palace");
  return Buffer.isBuffer(signature) && open.verify("palace", signature) === true;
}
