/** Manages the door at Roampal's port: restarts the broker to open the door, and lets the owner's own programs in without a token. */
import { setTimeout as delay } from "node:timers/promises";
import { canTellOwners } from "../../broker/door/socket-owner.ts";
import { withClient } from "../../wire/client/client.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import { variableOf } from "../../config/settings-table.ts";
import type { Env } from "../../config/env.ts";
import { badValue, PalaceError, wrongUsage } from "../../base/errors.ts";
import type { OutcomeDoorReport } from "../../protocol/spec.ts";
import { brokerBox } from "../docker/owner.ts";
import { isServedByStack } from "../docker/served-by-stack.ts";
import { restartBroker } from "../verbs/restart.ts";
import { editSettings } from "./edit.ts";

const OPEN_MAX_MS = 10_000;
const POLL_MS = 50;
const LOCAL = "outcome-local";
const PORT = "outcome-port";

/** Refuses a broker in a container, because programs outside the container could not reach its door. Errors: CONFIG_USAGE. */
export function assertOwnBroker(config: Config): void {
  if (isServedByStack(config) || brokerBox(config) !== undefined)
    throw wrongUsage(
      "the stack's broker does not open this door, because only its own container could reach it",
      "agents in the devbox learn without it: MEMPALACE_OUTCOMES=on in .env.devbox, then: palace devbox up",
    );
}

export async function restartWith(config: Config, more: Env = {}): Promise<OutcomeDoorReport | undefined> {
  const { env, palace } = config.handedOn();
  await restartBroker(loadConfig({ ...env, ...more }, { palace: palace[1] }));
  return doorOf(config);
}

/** Returns the state of the door at Roampal's port; waits while the door is opening. Returns undefined if the broker has no such door. */
export async function doorOf(config: Config): Promise<OutcomeDoorReport | undefined> {
  return withClient({ config, agent: "outcome door", start: "auto" }, async (client) => {
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      const { outcomeDoor: door } = await client.call("palace.status", {});
      const isDecided = door?.state !== "shut" || door.hint !== "";
      if (isDecided || waitedMs >= OPEN_MAX_MS) return door;
      await delay(POLL_MS);
    }
  });
}

/** Errors: BROKER_START_FAILED for a door that is shut or missing. */
export function assertOpen(door: OutcomeDoorReport | undefined): OutcomeDoorReport & { state: "open" } {
  if (door === undefined) throw new PalaceError("BROKER_START_FAILED", "the door was not opened", "palace logs");
  if (door.state === "open") return door;
  throw new PalaceError("BROKER_START_FAILED", `port ${door.port} is shut: ${door.why}`, door.hint);
}

/** Sets whether the owner's programs need no token; returns the door's report. Errors: CONFIG_*, BROKER_START_FAILED. */
export async function letOwnerIn(config: Config, isLocal: boolean): Promise<OutcomeDoorReport | undefined> {
  assertOwnBroker(config);
  if (isLocal && !canTellOwners())
    throw wrongUsage(
      "this system does not report who owns a connection, so every user could connect",
      "for a program that can send a token: palace bridge token add NAME --role agent",
    );
  const { settings, env } = config;
  const variable = variableOf(LOCAL);
  if (env[variable] !== undefined && config.outcomeLocal !== isLocal)
    throw badValue(`${variable} is ${env[variable]}, and wins`, `unset ${variable}`);
  const before = await doorOf(config);
  const isChanged = await editSettings(settings.file.path, LOCAL, isLocal ? true : undefined);
  const hasPort = [before?.port, config.outcomePort, config.lastingDoors.outcomePort].some(Number.isInteger);
  const isNew = isLocal && !hasPort && (await editSettings(settings.file.path, PORT, "on"));
  return isChanged || isNew || (before?.isLocal ?? false) !== isLocal ? restartWith(config) : before;
}
