/** Settings that `palace bridge setup` stores, and the state that the resident reports. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readRecord } from "../../base/parse-json.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";

/** Folder of the bridge, and the resident's socket. */
export type BridgePaths = { bridgeDir: string; bridgeSocketPath: string };

/** Content of `bridge.json`. */
export type BridgeSettings = {
  schema: 1;
  /** Host as the user typed it; `host` is the name that ssh resolves it to. */
  target: string;
  host: string;
  port: number;
  user: string;
  /** Host key in SSH's wire format, base64. */
  hostKey: string;
  /**
   * Kind of channel.
   * - `gate`: over SSH, the host runs `palace gate`.
   * - `streamlocal`: over SSH, the host forwards to the broker's socket.
   * - `command`: the user's `ssh` forwards to the broker's socket, and may share a connection that the user has opened.
   * - `docker`: `docker exec` runs the gate in the container `host`.
   */
  kind: "gate" | "streamlocal" | "command" | "docker";
  /** Broker's socket on the host, for the kinds `streamlocal` and `command`. */
  remoteSocket?: string;
  /** Argument of `ssh -F`, for the kind `command`. */
  sshConfig?: string;
  /** Arguments of `docker` that select the Docker daemon, for the kind `docker`. */
  dockerOptions?: string[];
};

/** Content of `state.json`, the resident's last report. */
export type BridgeState = {
  state: "connecting" | "connected" | "down" | "ended";
  pid: number;
  sinceMs: number;
  atMs: number;
  /** Why the bridge is down. `hint`: the command to type. Both are empty if unknown. */
  why: string;
  hint: string;
  channels: number;
};

/** Returns the bridge's settings; undefined if no bridge is set up. */
export function readSettings({ bridgeDir }: BridgePaths): BridgeSettings | undefined {
  const settings = readRecord(join(bridgeDir, "bridge.json"));
  return settings["schema"] === 1 ? (settings as BridgeSettings) : undefined;
}

/** Writes `bridge.json` atomically. Errors: system errors. */
export function writeSettings({ bridgeDir }: BridgePaths, settings: BridgeSettings): void {
  put(bridgeDir, "bridge.json", settings);
}

/** Returns the resident's last report; undefined if it is missing or unreadable. */
export function readState({ bridgeDir }: BridgePaths): BridgeState | undefined {
  const state = readRecord(join(bridgeDir, "state.json"));
  return "state" in state ? (state as BridgeState) : undefined;
}

/** Writes `state.json` atomically. Errors: system errors. */
export function writeState({ bridgeDir }: BridgePaths, state: BridgeState): void {
  put(bridgeDir, "state.json", state);
}

/** Returns the path of the bridge's private key. The public key has the same path with `.pub`. */
export function keyFile({ bridgeDir }: BridgePaths): string {
  return join(bridgeDir, "id_ed25519");
}

/** Removes the bridge's folder with settings and key. Errors: system errors. */
export function removeSettings({ bridgeDir }: BridgePaths): void {
  rmSync(bridgeDir, { recursive: true, force: true });
}

function put(folder: string, name: string, value: object): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileAtomic(join(folder, name), `${JSON.stringify(value)}\n`);
}
