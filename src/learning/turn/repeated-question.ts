/** Computes a digest by which a repeated question is recognised. Pure. */
import { half } from "./exchange.ts";
import { sha256Hex } from "../../memory/text/text.ts";

/** Minimum number of letters of a question that can count as repeated. A user may say "go on" twice. */
const LETTERS_MIN = 12;

/** Returns a digest that ignores case, spaces and punctuation; undefined for a text that is too short. */
export function askedMark(text: string): string | undefined {
  const letters = half(text)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, "");
  return letters.length < LETTERS_MIN ? undefined : sha256Hex(letters);
}
