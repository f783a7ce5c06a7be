/**
 * broker.json tells where this broker is. It is a hint that proves nothing; only a handshake does, and none outlives the
 * machine's start. Written by lifecycle.ts.
 */
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
    // A broker that died has left its file: overwriting it works on a full disk.
    overwriteFile(paths.brokerFile, text);
  }
}

/** Removes only this broker's file: a broker that started since may have written its own. */
export function unpublish({ paths }: Config, instanceId: string): void {
  try {
    if (readRecord(paths.brokerFile)["instanceId"] === instanceId) rmSync(paths.brokerFile, { force: true });
  } catch {
    // The file is gone already, perhaps with its folder.
  }
}
