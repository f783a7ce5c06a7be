/** Functions on text with the rules of Python: code points, white space, timestamps (palace.md 1.5). */
import { hash } from "node:crypto";

/** Characters that Python's str.strip() removes and `\s` matches, for a pattern: Unicode white space, U+001C–U+001F, U+0085, not U+FEFF. */
export const SPACES = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
const SPACE = new RegExp(`[${SPACES}]`);

/** Removes white space at both ends. Uses no pattern, because a pattern for the text's end would take quadratic time on runs of spaces. */
export function strip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text.charAt(start))) start++;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Returns the source of a pattern for exactly this text. With the flag `i` it ignores case as Python does: i, ı and İ are equal. */
export function anyCase(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/[iıİ]/gi, "[iıİ]");
}

/** Returns a pattern that matches the text as one or several whole words, in any case. */
export function wholeWord(text: string, flags = ""): RegExp {
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])${anyCase(text)}(?![\p{L}\p{N}_])`, `iu${flags}`);
}

/** Compares by code point, as Python sorts. UTF-16 sorts characters beyond the first plane before U+E000. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function codePointLength(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    if (isHighSurrogate(text, i)) (length--, i++);
  }
  return length;
}

/** Returns the first `count` code points. */
export function head(text: string, count: number): string {
  if (text.length <= count) return text;
  return text.slice(0, unitIndex(text, 0, count));
}

/** Returns the last `count` code points. */
export function tail(text: string, count: number): string {
  return text.slice(unitIndexBefore(text, text.length, count));
}

/** Cuts a text into slices of `size` code points, without overlap or trimming. */
export function slices(text: string, size: number): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = unitIndex(text, start, size);
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

/** Returns the UTF-16 index `count` code points after `start`, or the text's end. */
export function unitIndex(text: string, start: number, count: number): number {
  let index = start;
  for (let left = count; left > 0 && index < text.length; left--) index += isHighSurrogate(text, index) ? 2 : 1;
  return index;
}

/** Returns the UTF-16 index `count` code points before `end`, or the text's beginning. */
export function unitIndexBefore(text: string, end: number, count: number): number {
  let index = end;
  for (let left = count; left > 0 && index > 0; left--) index -= index > 1 && isHighSurrogate(text, index - 2) ? 2 : 1;
  return index;
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  if (unit < 0xd800 || unit > 0xdbff) return false;
  const next = text.charCodeAt(index + 1);
  return next >= 0xdc00 && next <= 0xdfff;
}

/** Replaces lone surrogates by U+FFFD. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

export function sha256Hex(text: string): string {
  return hash("sha256", text);
}

/** Formats `YYYY-MM-DDTHH:MM:SS.ffffff` in local time. Leaves out the fraction if the microseconds are 0. */
export function localTimestamp(atMicros: number): string {
  const { date, time, micros } = localParts(atMicros);
  return micros === 0 ? `${date}T${time}` : `${date}T${time}.${String(micros).padStart(6, "0")}`;
}

/** Returns true for `YYYY-MM-DD` if the date exists, in the years 1 to 9999. */
export function isOnCalendar(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`);
  return !date.startsWith("0000") && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
}

export function localDate(atMicros: number): string {
  return localParts(atMicros).date;
}

/** Formats `YYYYmmdd_HHMMSS` and six digits of microseconds, as in diary ids. */
export function localStamp(atMicros: number): string {
  const { date, time, micros } = localParts(atMicros);
  return `${date.replaceAll("-", "")}_${time.replaceAll(":", "")}${String(micros).padStart(6, "0")}`;
}

function localParts(atMicros: number): { date: string; time: string; micros: number } {
  const at = new Date(Math.floor(atMicros / 1000));
  const two = (value: number): string => String(value).padStart(2, "0");
  return {
    date: `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    time: `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`,
    micros: atMicros % 1_000_000,
  };
}

/** Rounds the binary value to `digits` decimals, halves to even, as Python's round() does. */
export function round(value: number, digits: number): number {
  const scaled = value * 10 ** digits;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  if (rest !== 0.5) return Math.round(scaled) / 10 ** digits;
  return (floor % 2 === 0 ? floor : floor + 1) / 10 ** digits;
}

/** Returns the last part of a path, whose separators may be / or \. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** Prints a float as Python does: `1.0`, `0.25`. */
export function pythonFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Returns the last part of a path without its extension, as Python's `Path.stem`. Ignores a separator at the end. */
export function pathStem(path: string): string {
  const name = path.split("/").findLast((part) => part !== "" && part !== ".") ?? "";
  const dot = name.lastIndexOf(".");
  return dot > 0 && dot < name.length - 1 ? name.slice(0, dot) : name;
}

/** Returns the id that the graph gives an entity of that name. */
export function entityId(name: string): string {
  return name.toLowerCase().replaceAll(" ", "_").replaceAll("'", "");
}

/** Maximum number of code points that `pythonRepr` quotes. The broker cuts every message after this number, so nobody would see more. */
const QUOTED_MAX = 4_000;

/** Quotes the beginning of a text as Python's repr() does. Upstream's messages quote refused values in this form. */
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
