/** The function for each tool and method that only MemPalace's clients use. */
import type { LedgerTx, WriteCall } from "../memory/port/ledger.ts";
import { AAAK_TEXT } from "../protocol/teaching.ts";
import { compressDrawers } from "./aaak/compress.ts";

/** Settings and notices in upstream's JSON files. */
export interface SettingsStore {
  hooks(): { silent_save: boolean; desktop_toast: boolean };
  /** Keeps unknown keys of config.json. */
  setHooks(change: { silent_save?: boolean; desktop_toast?: boolean }): void;
  /** Reads and removes the notice of the last checkpoint. */
  takeCheckpoint():
    | { found: false }
    | { found: true; messages: number; timestamp: string | null }
    | { found: "unreadable" };
}

type MemPalaceRead = (context: { settings: SettingsStore }, values: Record<string, unknown>) => unknown;

export const PALACE_FILE_READS = {
  get_aaak_spec: () => ({ aaak_spec: AAAK_TEXT }),
  hook_settings: ({ settings }, values) => {
    const change: { silent_save?: boolean; desktop_toast?: boolean } = {};
    for (const key of ["silent_save", "desktop_toast"] as const)
      if (typeof values[key] === "boolean") change[key] = values[key];
    const changed = Object.entries(change);
    if (changed.length > 0) settings.setHooks(change);
    const updated = changed.map(([key, value]) => `${key} → ${value ? "True" : "False"}`);
    return { success: true, settings: settings.hooks(), ...(updated.length > 0 && { updated }) };
  },
  memories_filed_away: ({ settings }) => {
    const checkpoint = settings.takeCheckpoint();
    if (checkpoint.found === false)
      return { status: "quiet", message: "No recent journal entry", count: 0, timestamp: null };
    if (checkpoint.found === "unreadable")
      return { status: "error", message: "✦ Journal entry filed in the palace", count: 0, timestamp: null };
    const { messages, timestamp } = checkpoint;
    return { status: "ok", message: `✦ ${messages} messages tucked into drawers`, count: messages, timestamp };
  },
} satisfies Record<string, MemPalaceRead>;

export const AAAK_METHODS = {
  "closet.compress": compressDrawers,
} satisfies Record<string, (tx: LedgerTx, call: WriteCall) => unknown>;
