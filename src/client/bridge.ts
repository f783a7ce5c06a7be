/**
 * What the client knows of an SSH bridge: whether one is set up here, and what its resident says when there is no way
 * through. Everything else is in src/bridge.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { PalaceError } from "../protocol/errors.ts";

/** Looks before it names: the folder's name takes hashing, which a shim's start does without. */
export function hasBridge({ paths }: Config): boolean {
  return existsSync(paths.bridgeRoot) && existsSync(join(paths.bridgeDir, "bridge.json"));
}

/** It has come through before and nothing is known against it: what it takes to open a channel is worth waiting for. */
export function isBridgeUp({ paths }: Config): boolean {
  return stateOf(paths.bridgeDir).state === "connected";
}

/** Why the bridge let nobody through since `sinceMs`; undefined while it is trying, or nothing went wrong. */
export function bridgeFault({ paths }: Config, sinceMs: number): PalaceError | undefined {
  const { state, atMs, why } = stateOf(paths.bridgeDir);
  if (state !== "down" || typeof atMs !== "number" || atMs < sinceMs) return undefined;
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `the bridge has no way to the host: ${String(why)}`,
    "palace bridge status",
  );
}

function stateOf(folder: string): { state?: unknown; atMs?: unknown; why?: unknown } {
  try {
    return (JSON.parse(readFileSync(join(folder, "state.json"), "utf8")) ?? {}) as object;
  } catch {
    return {};
  }
}
