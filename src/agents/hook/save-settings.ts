/** Reads from `hooks` in upstream's config.json whether hooks save automatically. The environment can only turn saving off. */
import { join } from "node:path";
import { isRecord, readRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";

/** An invalid setting in config.json counts as not set, that is, as true. */
export function saveSettings({ paths, hooks }: Config): { autoSave: boolean; silentSave: boolean } {
  const { hooks: there } = readRecord(join(paths.settingsDir, "config.json"));
  const settings = isRecord(there) ? there : {};
  return { autoSave: hooks.autoSave && settings["auto_save"] !== false, silentSave: settings["silent_save"] !== false };
}
