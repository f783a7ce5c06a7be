/** Implements SettingsStore with upstream's own JSON files: config.json and hook_state/last_checkpoint (palace.md 3.3, 8.3). */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isRecord, parseAs, readRecord } from "../base/parse-json.ts";
import { badValue } from "../base/errors.ts";
import { writeUserFile } from "../base/atomic-file.ts";

type Hooks = { silent_save: boolean; desktop_toast: boolean };

/** Creates the store. `home`: upstream's home folder. Unreadable JSON counts as empty, as in upstream. */
export function createSettingsStore(home: string) {
  const configFile = join(home, "config.json");
  const checkpointFile = join(home, "hook_state", "last_checkpoint");

  const hooks = (): Hooks => {
    const settings = hooksIn(readRecord(configFile));
    return { silent_save: settings["silent_save"] !== false, desktop_toast: settings["desktop_toast"] === true };
  };
  return {
    hooks,
    /** Changes the hooks' settings. Errors: CONFIG_BAD_VALUE for an invalid config.json, which stays unchanged. */
    setHooks(change: Partial<Hooks>): void {
      const config = existsSync(configFile) ? parseAs(readFileSync(configFile, "utf8"), isRecord) : {};
      if (config === undefined)
        throw badValue(
          `${configFile} is not a JSON object; it was left as it is`,
          "fix it or move it away, then repeat the call",
        );
      mkdirSync(home, { recursive: true, mode: 0o700 });
      writeUserFile(
        configFile,
        `${JSON.stringify({ ...config, hooks: { ...hooksIn(config), ...change } }, null, 2)}\n`,
      );
    },
    takeCheckpoint():
      | { found: false }
      | { found: true; messages: number; timestamp: string | null }
      | { found: "unreadable" } {
      let text: string;
      try {
        text = readFileSync(checkpointFile, "utf8");
      } catch (error) {
        return { found: (error as NodeJS.ErrnoException).code === "ENOENT" ? false : "unreadable" };
      }
      rmSync(checkpointFile, { force: true });
      const checkpoint = parseAs(text, isRecord);
      if (checkpoint === undefined) return { found: "unreadable" };
      const { msgs, ts } = checkpoint;
      return { found: true, messages: Number(msgs ?? 0), timestamp: typeof ts === "string" ? ts : null };
    },
  };
}

function hooksIn({ hooks }: Record<string, unknown>): Record<string, unknown> {
  return isRecord(hooks) ? hooks : {};
}
