/** Decides whether the user repeats an earlier question, and whether a prompt is a question. Pure. */
import { half } from "./exchange.ts";
import { sha256Hex } from "../../memory/text/text.ts";

/** Minimum number of letters of a question that can count as repeated, because a user may say "go on" twice. */
const LETTERS_MIN = 12;

/** Words that agree, thank or ask to continue. No memory can answer a prompt that has only these words. */
const ASSENT: ReadonlySet<string> = new Set(
  `ok okay k yes yeah yep yup y no nope nah n sure right correct exactly agreed good great fine nice cool perfect awesome lgtm
   go on ahead do it that this so continue proceed next keep going start please pls thanks thank you thx ty very much and the
   done stop wait again ja nein weiter bitte danke gut genau mach oui non si sí vale gracias merci bien`.split(/\s+/),
);

export function asksNothing(prompt: string): boolean {
  const words = prompt.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.every((word) => ASSENT.has(word));
}

/** Returns a digest that ignores case, spaces and punctuation; undefined for a text too short to be a question. */
export function askedMark(text: string): string | undefined {
  const letters = half(text)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, "");
  return letters.length < LETTERS_MIN ? undefined : sha256Hex(letters);
}
