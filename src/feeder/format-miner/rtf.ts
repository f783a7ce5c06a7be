/**
 * The text of a Rich Text document. There is no small library that is kept, and text alone needs none of RTF's pictures and
 * styles: groups, code pages and the few words that are text. Called by convert.ts.
 */
import { Unconverted } from "./outcome.ts";
import { ASIDE, CODE_PAGE_OF_CHARSET, codePageOf, SPOKEN } from "./rtf-words.ts";
import { Text } from "./text.ts";

const DEPTH_MAX = 10_000;
const TOKEN = /\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)/y;

/** `skip`: characters that stand behind each \u for programs that do not know it. */
type Group = { isAside: boolean; skip: number; font: number | undefined };

export function readRtf(bytes: Buffer, max: number): string {
  const source = decode(bytes);
  if (!source.trimStart().startsWith("{\\rtf"))
    throw new Unconverted("extraction_error", "is no RTF, whatever its name says");
  const text = new Text(max);
  const groups: Group[] = [];
  let group: Group = { isAside: false, skip: 1, font: undefined };
  const fonts = new Map<number, string>();
  let isFontTable = false;
  let codePage = "windows-1252";
  let hex: number[] = [];
  let left = 0;
  const say = (part: string): void => {
    if (!group.isAside) text.add(part);
  };
  const flush = (): void => {
    if (hex.length === 0) return;
    const page = (group.font === undefined ? undefined : fonts.get(group.font)) ?? codePage;
    say(new TextDecoder(page).decode(Uint8Array.from(hex)));
    hex = [];
  };

  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.length;) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(source);
    if (token === null) {
      TOKEN.lastIndex = at + 1;
      continue;
    }
    const [, word, digits, byte, symbol, brace, plain] = token;
    if (byte !== undefined) {
      if (left > 0) left -= 1;
      else hex.push(Number.parseInt(byte, 16));
      continue;
    }
    flush();
    if (brace === "{") {
      if (groups.length >= DEPTH_MAX) throw new Unconverted("extraction_error", "is nested too deep");
      groups.push(group);
      group = { ...group };
      left = 0;
    } else if (brace === "}") {
      group = groups.pop() ?? group;
      left = 0;
      // What stands behind the document is no part of it.
      if (groups.length === 0) break;
    } else if (symbol !== undefined) {
      left = 0;
      if (symbol === "*") group.isAside = true;
      else say(SPOKEN.get(symbol) ?? "");
    } else if (word !== undefined) {
      const number = digits === undefined ? undefined : Number(digits);
      left = 0;
      if (word === "bin") TOKEN.lastIndex += Math.max(0, number ?? 0);
      else if (word === "u" && number !== undefined) {
        say(String.fromCharCode(number & 0xffff));
        left = group.skip;
      } else if (word === "uc") group.skip = Math.min(Math.max(0, number ?? 1), 32);
      else if (word === "ansicpg") codePage = codePageOf(number ?? 0) ?? codePage;
      else if (word === "f") group.font = number;
      else if (word === "plain") group.font = undefined;
      else if (word === "fcharset" && isFontTable && group.font !== undefined) {
        const page = CODE_PAGE_OF_CHARSET.get(number ?? 0);
        if (page !== undefined) fonts.set(group.font, page);
      } else if (ASIDE.has(word)) {
        group.isAside = true;
        isFontTable = word === "fonttbl";
      } else say(SPOKEN.get(word) ?? "");
    } else if (plain !== undefined) {
      say(plain.slice(Math.min(left, plain.length)));
      left = Math.max(0, left - plain.length);
    }
  }
  flush();
  return text.toString();
}

/** Bytes beyond ASCII should be written as \'hh; where they are not, they are UTF-8 or Western. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
