/**
 * Decides which role a method or a tool needs: reader, agent or admin. Both route tables ask before anything is done.
 */
import { isRecord } from "../../platform/is-record.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { Tool } from "../../protocol/tools/table.ts";
import type { Peer } from "../peer.ts";

/** Methods that only a person at the broker's machine, or an admin's token, may call. */
const ADMINISTRATION: ReadonlySet<string> = new Set<MethodName>([
  ...(["broker.stop", "job.start", "job.cancel"] as const),
  ...(["drawer.reveal", "memory.forgetPreview", "memory.forget", "memory.erasure"] as const),
  ...(["memory.undoPreview", "memory.undo", "memory.audit"] as const),
  ...(["memory.importPreview", "memory.import"] as const),
  // The one says what came of memories, the other shows them unmasked.
  ...(["outcome.import", "outcome.export", "outcome.importGraph", "outcome.exportGraph"] as const),
]);

/** Methods about the machine more than the memory (its folders, its exports), a scan of every row, and what is written. */
const NOT_FOR_READERS: ReadonlySet<string> = new Set<MethodName>([
  "job.list",
  "palace.health",
  "turn.begin",
  "turn.end",
  "turn.owed",
  "turn.judge",
  "book.ingest",
  "book.remove",
]);

/**
 * True when readers may not make this call. Some tools change things outside the ledger: the hooks' settings, a notice
 * that is shown once.
 */
export function needsAgent({ role }: Tool, given: unknown): boolean {
  return role === "agent" || (role === "agent to change" && isRecord(given) && Object.keys(given).length > 0);
}

/** Errors: BROKER_DENIED. */
export function assertAllowed({ role, agent, door }: Peer, method: string, isForAgents: boolean): void {
  const isAdministration = ADMINISTRATION.has(method);
  const isForReaders = !isForAgents && !isAdministration && !NOT_FOR_READERS.has(method);
  if (role === "admin" || (role === "agent" && !isAdministration) || isForReaders) return;
  if (door === "gate")
    throw new PalaceError(
      "BROKER_DENIED",
      `${agent} came over a bridge, whose role is ${role}, which may not do that`,
      `on the broker's machine: ${agent.startsWith("palace ") ? agent : "palace --help"}`,
    );
  throw new PalaceError(
    "BROKER_DENIED",
    `the token of ${agent} has the role ${role}, which may not do that`,
    `on the broker's machine: palace bridge token add NAME --role ${isAdministration ? "admin" : "agent"}`,
  );
}
