/** Decides when an exchange may be scored: after the user's reply to a completed answer (outcome-memory.md 4.4, 6.7). */
import type { Conversation } from "../../memory/port/outcome.ts";

/** Time until a conversation without new turns is forgotten, ms. */
export const KEPT_MS = 30 * 86_400_000;

export function newConversation(id: string, agent: string, atMs: number): Conversation {
  const marks = { isCompleted: false, isAsked: false, isScored: false };
  return { id, agent, turn: 0, ...marks, exchange: null, scored: [], atMs };
}

/** Returns true before the conversation's first turn. */
export function isCold({ turn }: Conversation): boolean {
  return turn === 0;
}

/** Returns true while the turn runs: the user has written, and the agent has not answered yet. */
export function isGoingOn(conversation: Conversation): boolean {
  return !isCold(conversation) && !conversation.isCompleted;
}

/** Returns true if the agent has answered and the user has written nothing since. */
export function isOver(conversation: Conversation): boolean {
  return !isCold(conversation) && conversation.isCompleted;
}

/** Returns the state after a user's message. `hasExchange`: the previous exchange is still stored. */
export function onPrompt(before: Conversation, hasExchange: boolean, atMs: number): Conversation {
  const isAsked = before.isCompleted && !isCold(before) && hasExchange && !before.isScored;
  return { ...before, turn: before.turn + 1, isCompleted: false, isAsked, scored: [], atMs };
}

/** Returns the state after the agent's answer. The next user message judges the exchange `exchange`, never an older one. */
export function onStop(before: Conversation, exchange: string | undefined, atMs: number): Conversation {
  return { ...before, isCompleted: true, isAsked: false, exchange: exchange ?? null, isScored: false, atMs };
}
