/**
 * Implements SettingsStore over upstream's own JSON files: config.json and hook_state/last_checkpoint (palace.md 3.3,
 * 8.3).
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../base/atomic-file.ts";

type Hooks = { silent_save: boolean; desktop_toast: boolean };

/** `home` is upstream's home folder. Unreadable JSON counts as empty, as upstream has it. */
export function createSettingsStore(home: string) {
  const configFile = join(home, "config.json");
  const checkpointFile = join(home, "hook_state", "last_checkpoint");

  const hooks = (): Hooks => {
    const settings = readObject(readObject(configFile)["hooks"]);
    return { silent_save: settings["silent_save"] !== false, desktop_toast: settings["desktop_toast"] === true };
  };
  return {
    hooks,
    /** Errors: SyntaxError for an invalid config.json, which is not changed. */
    setHooks(change: Partial<Hooks>): void {
      const config = existsSync(configFile)
        ? (JSON.parse(readFileSync(configFile, "utf8")) as Record<string, unknown>)
        : {};
      mkdirSync(home, { recursive: true, mode: 0o700 });
      writeFileAtomic(
        configFile,
        `${JSON.stringify({ ...config, hooks: { ...readObject(config["hooks"]), ...change } }, null, 2)}\n`,
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
      try {
        const { msgs, ts } = JSON.parse(text) as { msgs?: unknown; ts?: unknown };
        return { found: true, messages: Number(msgs ?? 0), timestamp: typeof ts === "string" ? ts : null };
      } catch {
        return { found: "unreadable" };
      }
    },
  };
}

/** Returns the object in a file, or the value itself if it is an object; anything else is empty. */
function readObject(source: unknown): Record<string, unknown> {
  let value = source;
  if (typeof source === "string") {
    try {
      value = JSON.parse(readFileSync(source, "utf8"));
    } catch {
      return {};
    }
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
