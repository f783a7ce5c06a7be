/** Edits the host's `authorized_keys` (sshd(8)): adds or removes the line that lets a bridge's key run `palace gate` and nothing else. */
import { chownSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { targetOf, writeUserFile } from "../../base/atomic-file.ts";
import { badValue } from "../../base/errors.ts";

const KEY = /^(ssh-ed25519) ([A-Za-z0-9+/]+={0,2})(?: .*)?$/;
const MARK = "palace-bridge";

/** Adds the key's line. `command`: words of the command that sshd runs. Returns true if the file changed. Errors: CONFIG_BAD_VALUE. */
export function authorizeKey(
  file: string,
  publicKey: string,
  command: readonly string[],
  mayForward: boolean,
): boolean {
  const [type, key] = parseKey(publicKey);
  // sshd cannot limit forwarding to one socket, because `permitopen` accepts only addresses.
  const forwarding = mayForward ? ",port-forwarding" : "";
  const line = `restrict,command=${optionText(command.map(shellWord).join(" "))}${forwarding} ${type} ${key} ${MARK}`;
  const lines = readLines(file);
  const others = lines.filter((one) => !isOurs(one, key));
  if (others.some((one) => one.includes(key)))
    throw badValue(`${file} has this key already, with other rights`, `look at ${file}`);
  if (lines.includes(line) && others.length === lines.length - 1) return false;
  write(file, [...others, line]);
  return true;
}

/** Removes the key's line. Returns true if the file had that line. Errors: CONFIG_BAD_VALUE. */
export function revokeKey(file: string, publicKey: string): boolean {
  const [, key] = parseKey(publicKey);
  const lines = readLines(file);
  const others = lines.filter((one) => !isOurs(one, key));
  if (others.length === lines.length) return false;
  write(file, others);
  return true;
}

function isOurs(line: string, key: string): boolean {
  return line.startsWith("restrict,command=") && line.endsWith(` ${key} ${MARK}`);
}

function parseKey(text: string): [type: string, key: string] {
  const match = KEY.exec(text.trim());
  if (match?.[1] !== undefined && match[2] !== undefined) return [match[1], match[2]];
  throw badValue("not an ed25519 public key", "copy what `palace bridge setup` printed");
}

/** Reads the file as latin1, so that lines that are not UTF-8 stay unchanged. */
function readLines(file: string): string[] {
  const lines = existsSync(file) ? readFileSync(file, "latin1").split("\n") : [];
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Writes `authorized_keys`. If root writes the file, it still belongs to its user. */
function write(file: string, lines: readonly string[]): void {
  // The file may be a symbolic link, which must stay.
  file = targetOf(file);
  const folder = dirname(file);
  const before = statSync(file, { throwIfNoEntry: false });
  const { uid, gid } = before ?? statSync(nearestFolder(folder));
  const isRoot = process.getuid?.() === 0;
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (made !== undefined && isRoot)
    for (let at = folder; at.length >= made.length; at = dirname(at)) chownSync(at, uid, gid);
  const mode = (before?.mode ?? 0o600) & 0o777;
  const text = lines.map((line) => `${line}\n`).join("");
  writeUserFile(file, Buffer.from(text, "latin1"), mode, isRoot ? { uid, gid } : undefined);
}

function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder));
}

/** Quotes a word for the user's login shell, which gets the command from sshd. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Quotes an option's value, in which only double quotes are escaped. Returns latin1, as readLines does. */
function optionText(text: string): string {
  if (text.includes("\n")) throw badValue("a path with a line break cannot be authorised", "");
  return Buffer.from(`"${text.replaceAll('"', '\\"')}"`).toString("latin1");
}
