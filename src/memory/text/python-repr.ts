/** Quotes the beginning of a text as Python's repr() does. Upstream's messages quote refused values in this form. Pure. */
import { head } from "./text.ts";

/** Maximum number of code points quoted. The broker cuts every message after this number, so nobody would see more. */
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
    return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
  });
  return quote + escaped + quote;
}
