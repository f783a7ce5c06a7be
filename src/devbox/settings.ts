/** Edits `.env` beside docker-compose.yml, so that every later `docker compose` command, plain or ours, has the same settings. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeUserFile } from "../base/atomic-file.ts";

const MODE = 0o644;

const lineOf = (name: string): RegExp => new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");

export function hasSetting(root: string, name: string): boolean {
  return lineOf(name).test(textOf(root));
}

/** Writes the settings atomically. Returns false, without writing, if the file already has these values. */
export function writeSettings(root: string, settings: Readonly<Record<string, string>>): boolean {
  const file = join(root, ".env");
  const before = textOf(root);
  let text = before;
  for (const [name, value] of Object.entries(settings)) {
    const line = `${name}=${quotedValue(value)}`;
    if (lineOf(name).test(text)) text = text.replace(lineOf(name), () => line);
    else text = `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`;
  }
  if (text === before) return false;
  writeUserFile(file, text, existsSync(file) ? statSync(file).mode & 0o777 : MODE);
  return true;
}

/** Quotes a value for compose: single quotes make all characters literal; in double quotes, `\` and `$` are escaped. */
export function quotedValue(value: string): string {
  if (/^[\w./:@%+,-]+$/.test(value)) return value;
  return value.includes("'") ? `"${value.replaceAll(/[\\"$]/g, "\\$&")}"` : `'${value}'`;
}

function textOf(root: string): string {
  const file = join(root, ".env");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
