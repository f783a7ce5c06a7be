/** Rules for clients while no broker answers: which writes every broker would refuse, and which id a new drawer gets. */
import type { OfflineRules, OfflineWrite } from "../../wire/client/offline-rules.ts";
import { newDrawerId } from "../../memory/drawer/drawer-id.ts";
import type { LedgerTx } from "../../memory/port/ledger.ts";
import type { LogstreamTx } from "../../memory/port/logstream.ts";
import { applyToLog, isLogWrite, logRefusal } from "../../mempalace/events/log-tools.ts";
import { applyWrite } from "./writes.ts";
import { Looked, NOTHING } from "../../memory/tools/nothing.ts";

export const OFFLINE_RULES: OfflineRules = { answerWithoutPalace, newDrawerId };

/** Runs the write's own code without a palace. Returns undefined if that code needs the palace. Errors: InvalidValue, WrongType. */
function answerWithoutPalace({ tool, params, key, atMs, agent }: OfflineWrite): { value: unknown } | undefined {
  const isForLog = isLogWrite(tool);
  const peer = { agent, door: "", uid: -1, pid: process.pid };
  const call = { key, isRepeatable: true, atMs, requestId: "", method: tool, params, peer };
  try {
    return { value: isForLog ? applyToLog(NOTHING as LogstreamTx, call) : applyWrite(NOTHING as LedgerTx, call) };
  } catch (error) {
    if (error instanceof Looked) return undefined;
    const refusal = isForLog ? logRefusal(error) : undefined;
    if (refusal !== undefined) return { value: refusal };
    throw error;
  }
}
