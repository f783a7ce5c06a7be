/**
 * Makes the text at a session's start: the user's identity.txt and the palace's notes about the project, in the fence.
 * It is made once per session and stored, so that a host which does not store it gets the same bytes when the session
 * is resumed. Used by `palace hook`.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../wire/client/client.ts";
import type { Config } from "../config/config.ts";
import type { HarnessSettings } from "../config/harness.ts";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { removeOld } from "../base/old-files.ts";
import { fence } from "./fence.ts";

/** Matches the answer for an empty palace. */
const NO_STORY = /^## L1 — No (?:memories|palace)/;
const KEPT_MAX_MS = 30 * 24 * 3_600_000;
const IDENTITY_MAX_CHARS = 4_000;

/** `project`: wings that may belong to the agent's working folder. */
export type WakeUp = { config: Config; settings: HarnessSettings; client: Client; project: readonly string[] };

/** Returns the text; empty if there is nothing to say. Errors: the client's. */
export async function wakeUpText({ config, settings, client, project }: WakeUp): Promise<string> {
  const { wing } = settings;
  const { story } = await client.call("palace.wakeUp", { project, ...(wing !== undefined && { wing }) });
  const parts = [identity(config), NO_STORY.test(story) ? "" : story];
  return fence(parts.filter(Boolean).join("\n\n"), settings.injectedMaxBytes);
}

/** Stores a text. Never throws: a text that cannot be stored is made again. */
export function keepText(config: Config, session: string, text: string): void {
  try {
    const folder = folderOf(config);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileAtomic(fileOf(config, session), text);
    removeOld(folder, KEPT_MAX_MS);
  } catch {
    // The disk is full.
  }
}

/** Returns the stored text; undefined if there is none for that session, or only an old one. */
export function keptText(config: Config, session: string): string | undefined {
  try {
    return readFileSync(fileOf(config, session), "utf8");
  } catch {
    return undefined;
  }
}

function identity({ paths }: Config): string {
  try {
    return readFileSync(join(paths.settingsDir, "identity.txt"), "utf8").trim().slice(0, IDENTITY_MAX_CHARS);
  } catch {
    return "";
  }
}

function folderOf({ paths }: Config): string {
  return join(paths.cacheDir, "wake-up");
}

/** Hashes the session's id: it comes from an agent and may not be a usable file name. */
function fileOf(config: Config, session: string): string {
  return join(folderOf(config), `${createHash("sha256").update(session).digest("hex").slice(0, 32)}.txt`);
}
