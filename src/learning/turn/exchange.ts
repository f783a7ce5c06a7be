/** Joins a question and its answer into one memory's text (outcome-memory.md 4.5). Pure. */
import type { Drawer } from "../../memory/port/drawer.ts";
import { SAID_MAX } from "../../protocol/limits.ts";
import { wellFormed } from "../../memory/text/text.ts";

export type Exchange = { user: string; assistant: string };

const USER = "User: ";
const BETWEEN = "\n\nAssistant: ";

/** Returns the text; undefined if question or answer is empty. `userLength` is the question's length in UTF-16 units. */
export function exchangeText({ user, assistant }: Exchange): { text: string; userLength: number } | undefined {
  const [asked, answered] = [half(user), half(assistant)];
  if (asked === "" || answered === "") return undefined;
  return { text: `${USER}${asked}${BETWEEN}${answered}`, userLength: asked.length };
}

/** Splits a text by the question's stored length, as the question may contain the separator. An edited text counts as the answer. */
export function keptExchange({ text, metadata }: Pick<Drawer, "text" | "metadata">): Exchange {
  const end = USER.length + Number(metadata["user_length"] ?? 0);
  if (!text.startsWith(USER) || !text.startsWith(BETWEEN, end)) return { user: "", assistant: text };
  return { user: text.slice(USER.length, end), assistant: text.slice(end + BETWEEN.length) };
}

/** Trims a question or an answer, removes null characters, and cuts the text after `SAID_MAX` characters. */
export function half(text: string): string {
  const whole = wellFormed(text.replaceAll("\0", "").trim());
  return whole.length <= SAID_MAX ? whole : `${whole.slice(0, SAID_MAX).toWellFormed()}…`;
}
