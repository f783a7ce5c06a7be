/** Quotes a text as Python's repr() does: upstream's messages show so what they refuse. Pure. */
import { head } from "./text.ts";

/** In code points. No message of the broker is longer, so no more of a text needs to be quoted. */
const QUOTED_MAX = 4_000;

export function pythonRepr(text: string): string {
  const beginning = head(text, QUOTED_MAX);
  const quote = beginning.includes("'") && !beginning.includes('"') ? '"' : "'";
  const named: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
  const escaped = beginning.replaceAll(/[\p{C}\p{Z}\\'"]/gu, (char) => {
    if (named[char] !== undefined) return named[char];
    if (char === " " || char === "'" || char === '"') return char;
    const code = char.codePointAt(0) ?? 0;
    const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(digits as number, "0")}`;
  });
  return quote + escaped + quote;
}
