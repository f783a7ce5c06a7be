/**
 * Stores where a watch resumes after a restart, in MemPalace 3.11's file, `{"cursor": …}`. Only a missing file means a first run; if the
 * file is unreadable, events are shown twice but never lost.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isRecord } from "../../base/parse-json.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";

export type WatchState = { state: "absent" | "damaged" | "empty" } | { state: "ok"; cursor: string };

/** Names the file after the agent, without `:` and separators. "" means no file; undefined without an agent's name. */
export function stateFileOf(given: string | undefined, agent: string | undefined, home: string): string | undefined {
  if (given !== undefined) return given === "" ? undefined : resolve(given);
  if (agent === undefined || agent === "") return undefined;
  return join(home, "watch", `${agent.replaceAll("_", "__").replace(/[:/\\]/g, "_")}.json`);
}

export function readWatchState(file: string | undefined): WatchState {
  if (file === undefined) return { state: "absent" };
  try {
    const content = JSON.parse(readFileSync(file, "utf8")) as unknown;
    if (!isRecord(content) || !("cursor" in content)) return { state: "damaged" };
    const { cursor } = content;
    return typeof cursor === "string" && cursor !== "" ? { state: "ok", cursor } : { state: "empty" };
  } catch (error) {
    return { state: (error as NodeJS.ErrnoException).code === "ENOENT" ? "absent" : "damaged" };
  }
}

/** Writes the cursor. Errors: file system errors. */
export function writeWatchState(file: string | undefined, cursor: string | undefined, agent: string | undefined): void {
  if (file === undefined) return;
  mkdirSync(dirname(file), { recursive: true });
  const state = {
    cursor: cursor ?? null,
    updated_at: `${new Date().toISOString().slice(0, 19)}Z`,
    ...(agent !== undefined && { agent }),
  };
  writeFileAtomic(file, `${JSON.stringify(state)}\n`);
}
