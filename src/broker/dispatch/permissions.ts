/** Which role a method or a tool needs: reader, agent or admin. Asked by both route tables before anything is done. */
import { isRecord } from "../../platform/is-record.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { Tool } from "../../protocol/tools/table.ts";
import type { Peer } from "../peer.ts";

/** What only a person at the broker's machine, or an admin's token, may do. */
const ADMINISTRATION: ReadonlySet<string> = new Set<MethodName>([
  ...(["broker.stop", "job.start", "job.cancel"] as const),
  ...(["drawer.reveal", "memory.forgetPreview", "memory.forget", "memory.erasure"] as const),
  ...(["memory.undoPreview", "memory.undo", "memory.audit"] as const),
]);

/** Of the machine more than of the memory: its folders, what was exported where; and a look through every row of it. */
const NOT_FOR_READERS: ReadonlySet<string> = new Set<MethodName>(["job.list", "palace.health"]);

/** Whether readers may not make this call. What is outside the ledger can be changed, too: how the hooks save, a notice shown once. */
export function needsAgent({ role }: Tool, given: unknown): boolean {
  return role === "agent" || (role === "agent to change" && isRecord(given) && Object.keys(given).length > 0);
}

/** Errors: BROKER_DENIED. */
export function assertAllowed({ role, agent }: Peer, method: string, isForAgents: boolean): void {
  const isAdministration = ADMINISTRATION.has(method);
  const isForReaders = !isForAgents && !isAdministration && !NOT_FOR_READERS.has(method);
  if (role === "admin" || (role === "agent" && !isAdministration) || isForReaders) return;
  throw new PalaceError(
    "BROKER_DENIED",
    `the token of ${agent} has the role ${role}, which may not do that`,
    `on the broker's machine: palace token add NAME --role ${isAdministration ? "admin" : "agent"}`,
  );
}
