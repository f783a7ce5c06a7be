/** Reads Slack's export. Unlike upstream, it replaces ids by names, reads days with one message and adds no line about speakers. */
import { isRecord } from "../../base/parse-json.ts";
import { strip } from "../../memory/text/text.ts";
import { type Fields, fieldsOf, textOf } from "../fields.ts";
import { timeIn } from "./times.ts";
import { type Role, Transcript } from "./transcript.ts";

/** Name for each user's id. */
export type SlackNames = ReadonlyMap<string, string>;

const COMING_AND_GOING = /_(?:join|leave)$/;
const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
/** Matches `<@U01|jane>`, `<#C01|ops>`, `<!here>` and `<https://example.org|label>`. */
const MARKUP = /<([@#!]|(?=https?:|mailto:))([^<>|]*)(?:\|([^<>]*))?>/g;

/** Returns the names in users.json; an empty map for another document. */
export function slackNamesOf(document: unknown): SlackNames {
  const users = Array.isArray(document) ? document.filter(isRecord) : [];
  return new Map(users.map((user) => [textOf(user["id"]), nameOf(user)] as const).filter(([id, name]) => id && name));
}

/** Gives the first speaker the role `user`, and each new speaker the role that the previous message does not have. */
export function slackTranscript(items: readonly unknown[], names: SlackNames): Transcript {
  const transcript = new Transcript();
  const roles = new Map<string, Role>();
  let last: Role = "assistant";
  for (const item of items) {
    if (!isRecord(item) || item["type"] !== "message" || COMING_AND_GOING.test(textOf(item["subtype"]))) continue;
    const text = strip([item, ...attachments(item)].map((one) => plain(saidIn(one), names)).join("\n"));
    const speaker = speakerOf(item, names);
    if (speaker === "" || text === "") continue;
    const role: Role = roles.get(speaker) ?? (last === "user" ? "assistant" : "user");
    roles.set(speaker, role);
    last = role;
    transcript.add(role, `[${speaker}] ${text}`, timeIn(Number(item["ts"])));
  }
  return transcript;
}

/** Returns the speaker's name. Brackets and control characters become `_`, because the transcript has `[NAME] TEXT`. */
function speakerOf(item: Fields, names: SlackNames): string {
  const id = textOf(item["user"]);
  const profile = fieldsOf(item["user_profile"]);
  const name = names.get(id) ?? (nameOf({ profile }) || id || textOf(item["username"]) || textOf(item["bot_id"]));
  return strip(name.replace(/[[\]\x00-\x1f]/g, "_"));
}

function nameOf(user: Fields): string {
  const { real_name: real, display_name: shown } = fieldsOf(user["profile"]);
  return textOf(real) || textOf(user["real_name"]) || textOf(shown) || textOf(user["name"]);
}

/** Returns the attachments, which often contain a bot's text. */
function attachments(item: Fields): Fields[] {
  return Array.isArray(item["attachments"]) ? item["attachments"].filter(isRecord) : [];
}

function saidIn({ pretext, title, text, fallback }: Fields): string {
  const said = [pretext, title, text].map(textOf).filter((one) => one !== "");
  return said.length === 0 ? textOf(fallback) : said.join("\n");
}

function plain(text: string, names: SlackNames): string {
  return text
    .replace(MARKUP, (_, mark: string, target: string, label: string | undefined) => {
      if (mark === "@") return `@${names.get(target) ?? label ?? target}`;
      if (mark !== "") return `${mark === "#" ? "#" : "@"}${label ?? target}`;
      return label === undefined || label === target ? target : `${label} (${target})`;
    })
    .replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
