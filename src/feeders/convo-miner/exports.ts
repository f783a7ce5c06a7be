/** Reads exports that are one JSON document. Source: palace.md 5.4, and upstream 3.11's normalize module. */
import { strip } from "../../memory/text/text.ts";
import { isRecord } from "../../base/parse-json.ts";
import { type Fields, fieldsOf, textOf } from "../fields.ts";
import { contentText } from "./blocks.ts";
import { type SlackNames, slackTranscript } from "./slack.ts";
import { timeIn } from "./times.ts";
import { type Conversation, type Role, Transcript } from "./transcript.ts";

type Format = (document: unknown, names: SlackNames) => Conversation[] | undefined;

const MESSAGES_MIN = 2;
/** Minimum number of messages if the format is beyond doubt: unlike upstream, we file a question without an answer. */
const ALONE_MIN = 1;

export function conversationsOf(document: unknown, names: SlackNames): Conversation[] | undefined {
  for (const format of [gemini, claudeAi, chatGptExport, chatGpt, continueDev, slack]) {
    const found = format(document, names);
    if (found !== undefined && found.length > 0) return found;
  }
  return undefined;
}

const one = (transcript: Transcript, countMin = MESSAGES_MIN): Conversation[] | undefined =>
  transcript.count >= countMin ? [transcript.conversation()] : undefined;

/** Reads Gemini's export. Only the role `model` distinguishes this format from Claude's. */
const gemini: Format = (document) => {
  const items = isRecord(document) ? (document["contents"] ?? document["messages"]) : document;
  if (!Array.isArray(items) || items.length < MESSAGES_MIN) return undefined;
  const transcript = new Transcript();
  let hasModel = false;
  for (const item of items as unknown[]) {
    if (!isRecord(item)) continue;
    const { role, parts } = item;
    const text = Array.isArray(parts) ? strip(parts.map(partText).join(" ")) : contentText(item["content"] ?? "");
    if (text === "") continue;
    if (role === "user") transcript.add("user", text);
    else if (role === "model" || role === "assistant") transcript.add("assistant", text);
    hasModel ||= role === "model";
  }
  return hasModel ? one(transcript) : undefined;
};

function partText(part: unknown): string {
  return typeof part === "string" ? part : isRecord(part) ? textOf(part["text"]) : "";
}

/** Reads Claude.ai's export: one conversation, or the privacy export's list of conversations. */
const claudeAi: Format = (document) => {
  const list = isRecord(document) ? (document["messages"] ?? document["chat_messages"]) : document;
  if (!Array.isArray(list)) return undefined;
  const items = list as unknown[];
  const [first] = items;
  if (!isRecord(first) || !("chat_messages" in first || "messages" in first))
    return one(claudeMessages(items, document));
  return items.flatMap((item) => {
    if (!isRecord(item)) return [];
    const messages = isTrue(item["chat_messages"]) ? item["chat_messages"] : item["messages"];
    return (Array.isArray(messages) ? one(claudeMessages(messages, item), ALONE_MIN) : undefined) ?? [];
  });
};

/** Reads a conversation's messages. A message without a time gets the time of the conversation, `whole`. */
function claudeMessages(items: readonly unknown[], whole: unknown): Transcript {
  const transcript = new Transcript();
  const begun = timeIn(fieldsOf(whole)["created_at"]);
  for (const item of items) {
    if (!isRecord(item)) continue;
    const author = isTrue(item["role"]) ? item["role"] : item["sender"];
    const said = contentText(item["content"] ?? "") || strip(textOf(item["text"]));
    const text = [said, ...attached(item)].filter((one) => one !== "").join("\n\n");
    const role = CLAUDE_ROLES.get(textOf(author));
    if (role !== undefined && text !== "") transcript.add(role, text, timeIn(item["created_at"]) ?? begun);
  }
  return transcript;
}

function attached({ attachments }: Fields): string[] {
  const files = Array.isArray(attachments) ? attachments.map(fieldsOf) : [];
  return files.flatMap(({ file_name: name, extracted_content: content }) => {
    const text = strip(textOf(content));
    return text === "" ? [] : [`[attached ${textOf(name) || "file"}]\n${text}`];
  });
}

const CLAUDE_ROLES: ReadonlyMap<string, Role> = new Map([
  ["user", "user"],
  ["human", "user"],
  ["assistant", "assistant"],
  ["ai", "assistant"],
]);

const chatGptExport: Format = (document, names) =>
  Array.isArray(document) ? document.flatMap((conversation) => chatGpt(conversation, names) ?? []) : undefined;

/** Reads ChatGPT's tree of messages along the path to the current message; other branches are regenerated answers. */
const chatGpt: Format = (document) => {
  const mapping = isRecord(document) ? document["mapping"] : undefined;
  if (!isRecord(document) || !isRecord(mapping)) return undefined;
  const transcript = new Transcript();
  const current = textOf(document["current_node"]);
  const way = Object.hasOwn(mapping, current) ? wayTo(mapping, current) : newestWay(mapping);
  const begun = timeIn(document["create_time"]);
  for (const node of way) addChatGpt(transcript, node["message"], begun);
  return one(transcript, ALONE_MIN);
};

function wayTo(mapping: Fields, last: string): Fields[] {
  return follow(mapping, last, ({ parent }) => textOf(parent)).reverse();
}

/** Returns the path from a root along each node's last child. Prefers a root without a message, as in upstream. */
function newestWay(mapping: Fields): Fields[] {
  const roots = Object.entries(mapping).filter(([, node]) => isRecord(node) && (node["parent"] ?? null) === null);
  const bare = roots.find(([, node]) => ((node as Fields)["message"] ?? null) === null);
  const newest = ({ children }: Fields): string =>
    Array.isArray(children)
      ? textOf(children.findLast((id) => typeof id === "string" && Object.hasOwn(mapping, id)))
      : "";
  return follow(mapping, (bare ?? roots[0])?.[0] ?? "", newest);
}

function follow(mapping: Fields, first: string, next: (node: Fields) => string): Fields[] {
  const way = new Map<string, Fields>();
  for (let id = first; !way.has(id) && Object.hasOwn(mapping, id);) {
    const node = mapping[id];
    if (!isRecord(node)) break;
    way.set(id, node);
    id = next(node);
  }
  return [...way.values()];
}

/** Adds a message. The text of a voice message is in a part; code has `text` and no parts. */
function addChatGpt(transcript: Transcript, message: unknown, begun: string | undefined): void {
  if (!isRecord(message)) return;
  const author = fieldsOf(message["author"])["role"];
  if (author !== "user" && author !== "assistant") return;
  const { parts, text: whole } = fieldsOf(message["content"]);
  const texts = Array.isArray(parts) ? parts.map(partText) : [textOf(whole)];
  const text = strip(texts.filter((part) => part !== "").join(" "));
  if (text !== "") transcript.add(author, text, timeIn(message["create_time"]) ?? begun);
}

const continueDev: Format = (document) => {
  const history = isRecord(document) ? document["history"] : undefined;
  if (!Array.isArray(history)) return undefined;
  const transcript = new Transcript();
  for (const item of history as unknown[]) {
    if (!isRecord(item)) continue;
    const { role, content } = item;
    const text = Array.isArray(content) ? blocksText(content) : strip(textOf(content));
    if (text === "") continue;
    if (role === "user" || role === "assistant") transcript.add(role, text);
    else if (role === "tool") transcript.extendAnswer(`[tool] ${text}`);
  }
  return one(transcript);
};

function blocksText(blocks: readonly unknown[]): string {
  const texts = blocks.map((block) => {
    if (typeof block === "string") return block;
    return isRecord(block) && block["type"] === "text" ? textOf(block["text"]) : "";
  });
  return strip(texts.filter((text) => text !== "").join("\n"));
}

const slack: Format = (document, names) =>
  Array.isArray(document) ? one(slackTranscript(document, names), ALONE_MIN) : undefined;

/** Names of files with account data in exports of ChatGPT, Claude.ai and Slack. */
const BESIDE = new Set(
  "user.json users.json user_settings.json export_manifest.json message_feedback.json channels.json groups.json dms.json mpims.json integration_logs.json".split(
    " ",
  ),
);

/** Returns true for a file with account data, which has people's addresses and phone numbers but no messages. */
export function isOfAccount(name: string, document: unknown): boolean {
  const items: unknown[] = Array.isArray(document) ? document : [document];
  const isOf = (one: unknown): boolean =>
    isRecord(one) && ["email", "email_address", "phone_number"].some((key) => key in one);
  return BESIDE.has(name.toLowerCase()) || items.some(isOf);
}

/** Works like Python's `bool(value)`. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isRecord(value) ? Object.keys(value).length > 0 : Boolean(value);
}
