/** Makes the text at a session's start: the user's identity.txt and the palace's notes about the project, quoted (fence.ts). */
import { join } from "node:path";
import type { Client } from "../wire/client/client.ts";
import type { Config } from "../config/config.ts";
import type { HarnessSettings } from "../config/harness.ts";
import { readText } from "../base/regular-file.ts";
import { fence } from "./fence.ts";

/** Matches the notes that the broker returns for an empty palace. */
const NO_STORY = /^## L1 — No (?:memories|palace)/;
const IDENTITY_MAX_CHARS = 4_000;

/** `project`: wings that may belong to the agent's working folder. */
export type WakeUp = { config: Config; settings: HarnessSettings; client: Client; project: readonly string[] };

/** Returns the wake-up text; empty if identity.txt and the palace have no text. Errors: the client's errors. */
export async function wakeUpText({ config, settings, client, project }: WakeUp): Promise<string> {
  const { wing } = settings;
  const { story } = await client.call("palace.wakeUp", { project, ...(wing !== undefined && { wing }) });
  const parts = [identity(config), NO_STORY.test(story) ? "" : story];
  return fence(parts.filter(Boolean).join("\n\n"), settings.injectedMaxBytes);
}

function identity({ paths }: Config): string {
  return (readText(join(paths.settingsDir, "identity.txt")) ?? "").trim().slice(0, IDENTITY_MAX_CHARS);
}
