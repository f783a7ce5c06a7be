/**
 * `.env` beside docker-compose.yml: settings that stay. Compose reads it; we write a line of it where a later `docker compose` of any
 * kind must mean the same stack. Every other line stays as it is.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../base/atomic-file.ts";

const MODE = 0o644;

const lineOf = (name: string): RegExp => new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");

export function hasSetting(root: string, name: string): boolean {
  return lineOf(name).test(textOf(root));
}

/** Old or new as a whole; nothing where all is said already. Shape: true if it wrote. */
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
  writeFileAtomic(file, text, existsSync(file) ? statSync(file).mode & 0o777 : MODE);
  return true;
}

/** Quotes a value for compose: single quotes make everything literal; within double quotes `\` and `$` are special. */
export function quotedValue(value: string): string {
  if (/^[\w./:@%+,-]+$/.test(value)) return value;
  return value.includes("'") ? `"${value.replaceAll(/[\\"$]/g, "\\$&")}"` : `'${value}'`;
}

function textOf(root: string): string {
  const file = join(root, ".env");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
