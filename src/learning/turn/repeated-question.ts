/** Decides whether the user repeats an earlier question, and whether the prompt is a question. Pure. */
import { half } from "./exchange.ts";
import { sha256Hex } from "../../memory/text/text.ts";

/** Fewest letters of a question that counts as repeated: "go on" may be said twice. */
const LETTERS_MIN = 12;

/** Words that agree, thank or say to go on. A prompt of these alone asks for nothing that a memory could answer. */
const ASSENT: ReadonlySet<string> = new Set(
  `ok okay k yes yeah yep yup y no nope nah n sure right correct exactly agreed good great fine nice cool perfect awesome lgtm
   go on ahead do it that this so continue proceed next keep going start please pls thanks thank you thx ty very much and the
   done stop wait again ja nein weiter bitte danke gut genau mach oui non si sí vale gracias merci bien`.split(/\s+/),
);

export function asksNothing(prompt: string): boolean {
  const words = prompt.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.every((word) => ASSENT.has(word));
}

/**
 * Returns a digest that is equal for texts that differ only in case, spaces and punctuation. Undefined for a text too short to be a
 * question.
 */
export function askedMark(text: string): string | undefined {
  const letters = half(text)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, "");
  return letters.length < LETTERS_MIN ? undefined : sha256Hex(letters);
}
