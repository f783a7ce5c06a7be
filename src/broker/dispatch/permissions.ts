/** Decides which role a method or a tool needs: reader, agent or admin. Both engines check the role before a call. */
import { isRecord } from "../../base/parse-json.ts";
import { denied } from "../../base/errors.ts";
import type { MethodName, Role } from "../../protocol/spec.ts";
import type { Tool } from "../../protocol/tools/table.ts";
import type { Peer } from "../peer.ts";

/** Role that each of our own methods needs. A tool's role is in its row of the tool table; MCP's other methods need a reader. */
const METHOD_ROLES: Readonly<Record<MethodName, Role>> = {
  // These methods affect the whole broker or memory, or show masked text: they need a person at the machine, or an admin's token.
  "backup.list": "admin",
  "broker.stop": "admin",
  "drawer.reveal": "admin",
  "job.cancel": "admin",
  "job.start": "admin",
  "memory.audit": "admin",
  "memory.erasure": "admin",
  "memory.forget": "admin",
  "memory.forgetPreview": "admin",
  "memory.import": "admin",
  "memory.importPreview": "admin",
  "memory.undo": "admin",
  "memory.undoPreview": "admin",
  "outcome.export": "admin",
  "outcome.exportGraph": "admin",
  "outcome.import": "admin",
  "outcome.importGraph": "admin",
  "spool.list": "admin",
  "spool.sendAgain": "admin",
  "token.list": "admin",
  "token.revoke": "admin",
  // These methods write, read all rows, or show facts about the machine (its folders, its exports).
  "book.ingest": "agent",
  "book.remove": "agent",
  "closet.compress": "agent",
  "closet.rebuild": "agent",
  "conversation.replace": "agent",
  "fact.add": "agent",
  "fact.archive": "agent",
  "fact.update": "agent",
  "job.list": "agent",
  "link.rebuild": "agent",
  "message.add": "agent",
  "outcome.record": "agent",
  "outcome.rewrite": "agent",
  "outcome.score": "agent",
  "palace.health": "agent",
  "source.part": "agent",
  "source.remove": "agent",
  "source.replace": "agent",
  "turn.begin": "agent",
  "turn.end": "agent",
  "turn.judge": "agent",
  "turn.owed": "agent",
  "book.list": "reader",
  "closet.compressPreview": "reader",
  "closet.sources": "reader",
  "drawer.list": "reader",
  "drawer.places": "reader",
  "drawer.search": "reader",
  "drawer.show": "reader",
  "outcome.insights": "reader",
  "outcome.search": "reader",
  "outcome.stats": "reader",
  "outcome.why": "reader",
  "palace.stats": "reader",
  "palace.status": "reader",
  "palace.wakeUp": "reader",
  "source.list": "reader",
  "turn.list": "reader",
  "turn.scored": "reader",
  // The page gets the role of the peer that asks for the link.
  "ui.link": "reader",
};

export function isOwnMethod(method: string): method is MethodName {
  return Object.hasOwn(METHOD_ROLES, method);
}

export function roleFor(method: string): Role {
  return isOwnMethod(method) ? METHOD_ROLES[method] : "reader";
}

/** A tool with the role `agent to change` changes something only if it gets arguments. A reader may call it without arguments. */
export function roleForTool({ role }: Tool, given: unknown): Role {
  const isChange = role === "agent to change" && isRecord(given) && Object.keys(given).length > 0;
  return role === "agent" || isChange ? "agent" : "reader";
}

const RANK: Readonly<Record<Role, number>> = { reader: 0, agent: 1, admin: 2 };

export function assertAllowed({ role, agent, door }: Peer, needed: Role): void {
  if (RANK[role] >= RANK[needed]) return;
  if (door === "gate")
    throw denied(
      `${agent} came over a bridge, and a bridge's role, ${role}, may not do that`,
      `on the broker's machine: ${agent.startsWith("palace ") ? agent : "palace --help"}`,
    );
  if (door === "ui") throw denied(`this page was opened as ${role}, which may not do that`, "palace ui");
  throw denied(
    `the token of ${agent} has the role ${role}, which may not do that`,
    `on the broker's machine: palace bridge token add NAME --role ${needed}`,
  );
}
