/**
 * Keeps what was said beside each message of a session, for a host that stores nothing of it: when the session is resumed, it stands
 * there again, in the same bytes. Used by `palace hook turn` and `palace hook told`.
 */
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { removeOld } from "../platform/old-files.ts";

const KEPT_MAX_MS = 30 * 24 * 3_600_000;

/** Never throws: a text that cannot be kept is missing when the session is resumed. */
export function keepTold(config: Config, session: string, message: string, text: string): void {
  try {
    const folder = folderOf(config);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    appendFileSync(fileOf(config, session), `${JSON.stringify([message, text])}\n`, { mode: 0o600 });
    removeOld(folder, KEPT_MAX_MS);
  } catch {
    // The disk is full.
  }
}

/** By message; a line that was cut off is left out. */
export function toldTexts(config: Config, session: string): Record<string, string> {
  try {
    const lines = readFileSync(fileOf(config, session), "utf8").split("\n");
    return Object.fromEntries(lines.flatMap((line) => readLine(line)));
  } catch {
    return {};
  }
}

function readLine(line: string): [string, string][] {
  try {
    const [message, text] = JSON.parse(line) as [unknown, unknown];
    return typeof message === "string" && typeof text === "string" ? [[message, text]] : [];
  } catch {
    return [];
  }
}

function folderOf({ paths }: Config): string {
  return join(paths.cacheDir, "told");
}

/** Hashes the session's id, which comes from an agent and is no file name. */
function fileOf(config: Config, session: string): string {
  return join(folderOf(config), `${createHash("sha256").update(session).digest("hex").slice(0, 32)}.jsonl`);
}
