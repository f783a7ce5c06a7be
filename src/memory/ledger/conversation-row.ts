/** The row format of a conversation. */
import type { Conversation } from "../port/outcome.ts";
import { isTexts, readColumn } from "./json-column.ts";

export type ConversationRecord = Pick<Conversation, "id" | "agent" | "turn" | "exchange"> & {
  is_completed: number;
  is_asked: number;
  is_scored: number;
  scored: string;
  at_ms: number;
};

export function toConversation(record: ConversationRecord): Conversation {
  const { id, agent, turn, is_completed, is_asked, is_scored, exchange, scored, at_ms } = record;
  return {
    ...{ id, agent, turn, exchange, scored: readColumn("conversation.scored", scored, isTexts), atMs: at_ms },
    ...{ isCompleted: is_completed === 1, isAsked: is_asked === 1, isScored: is_scored === 1 },
  };
}
