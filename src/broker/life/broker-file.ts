/** broker.json says where this broker listens. It is only a hint: clients trust the handshake. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { readRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";
import { overwriteFile, replaceFile } from "../../base/atomic-file.ts";
import { bootId } from "../../base/uptime.ts";
import { isDiskFull } from "../../base/state-files.ts";
import { VERSION } from "../../base/version.ts";
import type { BrokerFile, Door } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";

export function publish(
  { paths }: Config,
  { instanceId, startedAtMs, doors }: { instanceId: string; startedAtMs: number; doors: Door[] },
): void {
  const file: BrokerFile = {
    schema: 1,
    instanceId,
    version: VERSION,
    protocol: PROTOCOL,
    pid: process.pid,
    bootId: bootId(),
    startedAtMs,
    doors,
    home: paths.home,
    gate: paths.gatePath,
  };
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(file)}\n`;
  try {
    replaceFile(paths.brokerFile, text);
  } catch (error) {
    if (!isDiskFull(error) || !existsSync(paths.brokerFile)) throw error;
    // A dead broker has left its file. Overwriting that file works even on a full disk.
    overwriteFile(paths.brokerFile, text);
  }
}

/** Removes this broker's file. Leaves the file of a later broker. */
export function unpublish({ paths }: Config, instanceId: string): void {
  try {
    if (readRecord(paths.brokerFile)["instanceId"] === instanceId) rmSync(paths.brokerFile, { force: true });
  } catch {
    // The file is already gone, perhaps with its folder.
  }
}
