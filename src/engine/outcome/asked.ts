/** Whether the user asks what was asked before. Pure. */
import { half } from "./exchange.ts";
import { sha256Hex } from "../text/text.ts";

/** "Go on" may be said twice. */
const LETTERS_MIN = 12;

/** The same for texts that are alike but for case, spaces and punctuation; undefined for one that is too short to ask anything. */
export function askedMark(text: string): string | undefined {
  const letters = half(text)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, "");
  return letters.length < LETTERS_MIN ? undefined : sha256Hex(letters);
}
