/** Files each message of a coding agent as a drawer without wing and room, as upstream's sweeper does (palace.md 4.7, 5.7). */
import { isRecord } from "../../base/parse-json.ts";
import type { Metadata, NewDrawer } from "../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { MESSAGES_PART_MAX } from "../../protocol/limits.ts";
import { localTimestamp } from "../text/text.ts";
import { InvalidValue } from "../text/validate.ts";
import { filledTextIn, optionalText } from "./params.ts";

type Message = { sessionId: string; uuid: string; timestamp: string; role: string; content: string };

/** Files the messages that are new or changed. Errors: PROTOCOL_BAD_PARAMS. */
export function addMessages(tx: LedgerTx, { params, atMs }: WriteCall): unknown {
  const { sourceFile, messages, optional } = read(params);
  const filedAt = localTimestamp(atMs * 1000);
  const fresh = new Map<string, NewDrawer>();
  let changed = 0;
  for (const { sessionId, uuid, timestamp, role, content } of messages) {
    const id = `sweep_${sessionId}_${uuid}`;
    const text = `${role.toUpperCase()}: ${content}`;
    const metadata: Metadata = {
      ...{ session_id: sessionId, timestamp, message_uuid: uuid, role, source_file: sourceFile },
      ...{ filed_at: filedAt, ingest_mode: "sweep", last_modified: filedAt },
      ...optional,
    };
    const known = tx.findDrawer(id);
    if (known === undefined) fresh.set(id, { id, text, metadata });
    else if (known.text !== text) {
      tx.updateDrawer(id, { text, metadata });
      changed += 1;
    }
  }
  tx.insertDrawers([...fresh.values()]);
  return { added: fresh.size, changed, present: messages.length - fresh.size - changed };
}

function read(params: Record<string, unknown>): { sourceFile: string; messages: Message[]; optional: Metadata } {
  const sourceFile = filledTextIn(params, "sourceFile");
  const { messages } = params;
  if (!Array.isArray(messages) || messages.length > MESSAGES_PART_MAX)
    throw new InvalidValue(`messages must be a list of at most ${MESSAGES_PART_MAX}`);
  const optional = optionalText(params, "sourceDirIno", "source_dir_ino");
  return { sourceFile, messages: messages.map(readMessage), optional };
}

function readMessage(value: unknown): Message {
  const text = (key: keyof Message): string => {
    const found = isRecord(value) ? value[key] : undefined;
    if (typeof found !== "string" || found === "")
      throw new InvalidValue(`a message's ${key} must be a non-empty string`);
    return found.toWellFormed();
  };
  const role = text("role");
  if (role !== "user" && role !== "assistant") throw new InvalidValue("a message's role is user or assistant");
  return {
    sessionId: text("sessionId"),
    uuid: text("uuid"),
    timestamp: text("timestamp"),
    role,
    content: text("content"),
  };
}
