/**
 * When an exchange may be scored: the user has answered a completed response of this very conversation. Pure. Source:
 * outcome-memory.md 4.4, 6.7.
 */

export type Conversation = {
  /** The agent has finished; what the user says next is an answer to it. */
  isCompleted: boolean;
  /** This turn asked for scores. */
  isScoringAsked: boolean;
  isScored: boolean;
  /** It has been greeted. */
  isKnown: boolean;
};

export const NEW_CONVERSATION: Conversation = {
  isCompleted: false,
  isScoringAsked: false,
  isScored: false,
  isKnown: false,
};

/** What the user's message does. `hasUnscored`: the exchange before it is there, and was not scored yet. */
export function onPrompt(before: Conversation, hasUnscored: boolean): Conversation & { isCold: boolean } {
  const isCold = !before.isKnown;
  const isScoringAsked = before.isCompleted && !isCold && hasUnscored;
  const isScored = isScoringAsked ? false : before.isScored;
  return { isCompleted: false, isScoringAsked, isScored, isKnown: true, isCold };
}

export function onScored(before: Conversation): Conversation {
  return { ...before, isScored: true };
}

export function onStop(before: Conversation): Conversation {
  return { ...before, isCompleted: true, isScoringAsked: false };
}
