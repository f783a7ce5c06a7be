/** Reads whether hooks save automatically: `hooks` of upstream's config.json, which the environment overrides. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";

/** Reads `silent_save` and `auto_save` of upstream's config.json; an invalid setting counts as not set. */
export function hookSettings({ paths, hooks }: Config): { autoSave: boolean; silentSave: boolean } {
  let settings: { auto_save?: unknown; silent_save?: unknown } = {};
  try {
    const config = JSON.parse(readFileSync(join(paths.settingsDir, "config.json"), "utf8")) as {
      hooks?: typeof settings;
    };
    settings = config.hooks ?? {};
  } catch {
    // The file is missing or no JSON.
  }
  return { autoSave: hooks.autoSave && settings.auto_save !== false, silentSave: settings.silent_save !== false };
}

export function savesByItself(config: Config): boolean {
  return hookSettings(config).autoSave;
}
