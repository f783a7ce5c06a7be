/**
 * Where a watch goes on after a restart: MemPalace 3.11's file, `{"cursor": …}`. Only where there is none is it a first run; one that
 * cannot be read costs events seen twice, never one that is missed.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isRecord } from "../../platform/is-record.ts";
import { writeFileAtomic } from "../../platform/atomic-file.ts";

export type WatchState = { state: "absent" | "damaged" | "empty" } | { state: "ok"; cursor: string };

/** By the agent's name, whose `:` and separators are not for file names. "" switches it off; undefined where there is no name. */
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

/** Errors: the file system's. */
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
