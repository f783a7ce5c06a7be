/** Reads whether hooks save automatically: `hooks` in upstream's config.json, unless the environment overrides it. */
import { join } from "node:path";
import { isRecord, readRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";

/** Reads `silent_save` and `auto_save` of upstream's config.json; an invalid setting counts as not set. */
export function saveSettings({ paths, hooks }: Config): { autoSave: boolean; silentSave: boolean } {
  const { hooks: there } = readRecord(join(paths.settingsDir, "config.json"));
  const settings = isRecord(there) ? there : {};
  return { autoSave: hooks.autoSave && settings["auto_save"] !== false, silentSave: settings["silent_save"] !== false };
}
