/** Keeps the tokens of the TCP door in a file, without their secrets (protocol/proof.ts). `palace bridge token` writes the file. */
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { parseRecord } from "../../base/parse-json.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { keepFolder } from "../../base/folders.ts";
import { tryFlock } from "../../base/libc.ts";
import { badValue, damaged, unavailable } from "../../base/errors.ts";
import { keysOf, makeToken, type TokenKeys } from "../../protocol/proof.ts";
import { ROLES, type Role } from "../../protocol/spec.ts";

export type TokenRecord = TokenKeys & {
  id: string;
  name: string;
  role: Role;
  createdAtMs: number;
  /** null means never. */
  expiresAtMs: number | null;
};

type TokenFile = { schema: 1; tokens: TokenRecord[] };

export const REVOKED_CHECK_MS = 500;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Returns all records, also expired ones. Errors: STORE_UNAVAILABLE for an unreadable file, STORE_CORRUPT for another format. */
export function readTokens(file: string): TokenRecord[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw unavailable(`${file} cannot be read`, `chmod 600 ${file}`, error);
  }
  const { schema, tokens } = parseRecord(text);
  if (schema === 1 && Array.isArray(tokens) && tokens.every(isRecord)) return tokens;
  throw damaged(`${file} is not a token file`, `move it away and add the tokens again`);
}

/** Adds a token and returns it. The file gets only keys computed from it. Errors: CONFIG_BAD_VALUE for a taken or invalid name. */
export function addToken(
  file: string,
  { name, role, expiresAtMs = null }: { name: string; role: Role; expiresAtMs?: number | null },
  nowMs = Date.now(),
): { record: TokenRecord; token: string } {
  if (!NAME.test(name)) throw badValue(`${name} cannot be a token's name`, "use letters, digits, . _ and -");
  return change(file, (tokens) => {
    if (tokens.some((token) => token.name === name))
      throw badValue(`there is a token ${name} already`, `palace bridge token revoke ${name}`);
    const { id, token } = makeToken();
    const record: TokenRecord = { id, name, role, createdAtMs: nowMs, expiresAtMs, ...keysOf(token) };
    return { tokens: [...tokens, record], result: { record, token } };
  });
}

/** Returns false if no token has that name. */
export function revokeToken(file: string, name: string): boolean {
  return change(file, (tokens) => {
    const left = tokens.filter((token) => token.name !== name);
    return { tokens: left, result: left.length < tokens.length };
  });
}

/** Reads, changes and writes the file under a lock, so that no change is lost if two commands run at once. */
function change<T>(file: string, edit: (tokens: TokenRecord[]) => { tokens: TokenRecord[]; result: T }): T {
  keepFolder(dirname(file));
  const lock = openSync(`${file}.lock`, "w", 0o600);
  try {
    if (!tryFlock(lock)) throw unavailable("another `palace bridge token` is running", "repeat the command");
    const { tokens, result } = edit(readTokens(file));
    writeFileAtomic(file, `${JSON.stringify({ schema: 1, tokens } satisfies TokenFile, null, 2)}\n`);
    return result;
  } finally {
    closeSync(lock);
  }
}

function isRecord(value: unknown): value is TokenRecord {
  const { id, name, role, storedKey, serverKey, expiresAtMs } = (value ?? {}) as Partial<TokenRecord>;
  const areTexts = [id, name, storedKey, serverKey].every((text) => typeof text === "string" && text !== "");
  return areTexts && ROLES.includes(role as Role) && (expiresAtMs === null || typeof expiresAtMs === "number");
}

/** The broker's view of the file, read again after each change. */
export class TokenBook {
  readonly #file: string;
  readonly #now: () => number;
  readonly #onBroken: (error: unknown) => void;
  /** Time of each token's last use. A revoked token's time stays until the broker ends. */
  readonly #used = new Map<string, number>();
  #version: string | undefined;
  #tokens = new Map<string, TokenRecord>();

  constructor(file: string, onBroken: (error: unknown) => void, now: () => number = Date.now) {
    this.#file = file;
    this.#onBroken = onBroken;
    this.#now = now;
  }

  /** Returns a token that is neither revoked nor expired. */
  find(id: string): TokenRecord | undefined {
    this.#refresh();
    const record = this.#tokens.get(id);
    return record !== undefined && (record.expiresAtMs === null || record.expiresAtMs > this.#now())
      ? record
      : undefined;
  }

  /** Records that the token has opened a connection or still has one. */
  use(id: string): void {
    this.#used.set(id, this.#now());
  }

  usedAtMs(id: string): number | null {
    return this.#used.get(id) ?? null;
  }

  get size(): number {
    this.#refresh();
    return this.#tokens.size;
  }

  #refresh(): void {
    const version = this.#look();
    if (version === this.#version) return;
    this.#version = version;
    this.#tokens = new Map();
    try {
      this.#tokens = new Map(readTokens(this.#file).map((record) => [record.id, record]));
    } catch (error) {
      this.#onBroken(error);
    }
  }

  /** Returns a text that differs after each change of the file. If the file is unreadable, the broker admits nobody, but keeps running. */
  #look(): string {
    try {
      const stat = statSync(this.#file, { throwIfNoEntry: false, bigint: true });
      return stat === undefined ? "none" : `${stat.ino}.${stat.size}.${stat.mtimeNs}`;
    } catch {
      return "unreadable";
    }
  }
}
