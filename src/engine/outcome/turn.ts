/**
 * A turn of a conversation, inside a write: what the agent is shown is noted when the user has spoken, and the exchange is kept when the
 * agent has answered. No text of the turn stands in the answers, because the journal keeps those. Source: outcome-memory.md 4.4, 4.5.
 */
import type { Metadata } from "../../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../../port/ledger.ts";
import type { Conversation } from "../../port/outcome.ts";
import { BAD_PARAMS_HINT, PalaceError } from "../../protocol/errors.ts";
import { CONVERSATION_ID_MAX } from "../../protocol/limits.ts";
import { isCold, KEPT_MS, newConversation, onPrompt, onStop } from "./conversation.ts";
import { exchangeText } from "./exchange.ts";
import { isoTime, storeMemory } from "./store.ts";

/** Ids of drawers. `asks`: what is to be scored, and what the agent was shown for it. */
export type Begun = {
  isCold: boolean;
  shown: readonly string[];
  asks: { exchange: string; shown: readonly string[] } | null;
};

/** `findings`: drawers that the agent will be shown. Errors: PROTOCOL_BAD_PARAMS. */
export function beginTurn(tx: LedgerTx, call: WriteCall): Begun {
  const { findings, atMs } = call;
  const before = found(tx, call);
  const { exchange } = before;
  const now = onPrompt(before, exchange !== null && tx.findDrawer(exchange) !== undefined, atMs);
  const asks =
    now.isAsked && exchange !== null ? { exchange, shown: tx.conversations.shownAt(now.id, before.turn) } : null;
  if (isCold(before)) tx.conversations.dropBefore(atMs - KEPT_MS);
  tx.conversations.put(now);
  const shown = Array.isArray(findings) ? (findings as string[]) : [];
  tx.conversations.show(now.id, now.turn, shown);
  return { isCold: isCold(before), shown, asks };
}

/** Returns the memory that holds the exchange, if both have said something. Errors: PROTOCOL_BAD_PARAMS. */
export function endTurn(tx: LedgerTx, call: WriteCall): { id: string | null; scored: boolean } {
  const { params, atMs } = call;
  const before = found(tx, call);
  const said = { user: textOf(params, "user"), assistant: textOf(params, "assistant") };
  const kept = exchangeText(said);
  const project = textOf(params, "project").slice(0, CONVERSATION_ID_MAX);
  const fields: Metadata = {
    ...{
      turn_type: "exchange",
      timestamp: isoTime(atMs),
      conversation_id: before.id,
      user_length: kept?.userLength ?? 0,
    },
    ...(project !== "" && { project }),
  };
  const id = kept === undefined ? undefined : storeMemory(tx, call, { collection: "working", text: kept.text, fields });
  tx.conversations.put(onStop(before, id, atMs));
  return { id: id ?? null, scored: before.isScored };
}

function found(tx: LedgerTx, { params, peer, atMs }: WriteCall): Conversation {
  const id = params["conversation"];
  if (typeof id !== "string" || id === "" || id.length > CONVERSATION_ID_MAX)
    throw new PalaceError(
      "PROTOCOL_BAD_PARAMS",
      `conversation must be an id of 1 to ${CONVERSATION_ID_MAX} characters`,
      BAD_PARAMS_HINT,
    );
  return tx.conversations.find(id) ?? newConversation(id, peer.agent, atMs);
}

function textOf(params: Record<string, unknown>, name: string): string {
  const value = params[name] ?? "";
  if (typeof value === "string") return value;
  throw new PalaceError("PROTOCOL_BAD_PARAMS", `${name} must be a string`, BAD_PARAMS_HINT);
}
