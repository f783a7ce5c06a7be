/** Whether hooks save by themselves: `hooks` of upstream's config.json, under the environment's word. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";

/** `silent_save` and `auto_save` of upstream's config.json; what is no setting is as if it were not there. */
export function hookSettings({ paths, hooks }: Config): { autoSave: boolean; silentSave: boolean } {
  let settings: { auto_save?: unknown; silent_save?: unknown } = {};
  try {
    const config = JSON.parse(readFileSync(join(paths.settingsDir, "config.json"), "utf8")) as {
      hooks?: typeof settings;
    };
    settings = config.hooks ?? {};
  } catch {
    // None, or no JSON.
  }
  return { autoSave: hooks.autoSave && settings.auto_save !== false, silentSave: settings.silent_save !== false };
}

export function savesByItself(config: Config): boolean {
  return hookSettings(config).autoSave;
}
