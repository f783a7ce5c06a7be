/** Extracts the text of a Rich Text document. No small maintained library does this. */
import { Unconverted } from "./outcome.ts";
import { IGNORED_DESTINATIONS, CODE_PAGE_OF_CHARSET, codePageOf, TEXT_OF_WORD } from "./rtf-words.ts";
import { Text } from "./text.ts";

const DEPTH_MAX = 10_000;
const TOKEN = /\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)/y;

/** State within braces. `skip`: number of characters to skip after a \u: a substitute for older programs. */
type Group = { isIgnored: boolean; skip: number; font: number | undefined };

export function readRtf(bytes: Buffer, max: number): string {
  const source = decode(bytes);
  if (!source.trimStart().startsWith("{\\rtf"))
    throw new Unconverted("extraction_error", "is not RTF, despite its name");
  return new RtfReader(source, new Text(max)).read();
}

class RtfReader {
  readonly #source: string;
  readonly #text: Text;
  readonly #groups: Group[] = [];
  #group: Group = { isIgnored: false, skip: 1, font: undefined };
  readonly #fonts = new Map<number, string>();
  #isFontTable = false;
  #codePage = "windows-1252";
  /** Bytes of \'hh that are not decoded yet, because a character may consist of several bytes. */
  #hex: number[] = [];
  /** Number of characters after the last \u that must still be skipped. */
  #left = 0;

  constructor(source: string, text: Text) {
    this.#source = source;
    this.#text = text;
  }

  read(): string {
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < this.#source.length;) {
      const at = TOKEN.lastIndex;
      const token = TOKEN.exec(this.#source);
      if (token === null) TOKEN.lastIndex = at + 1;
      else if (this.#step(token) === "end") break;
    }
    this.#flush();
    return this.#text.toString();
  }

  #step([, word, digits, byte, symbol, brace, plain]: RegExpExecArray): "end" | undefined {
    if (byte !== undefined) {
      if (this.#left > 0) this.#left -= 1;
      else this.#hex.push(Number.parseInt(byte, 16));
      return undefined;
    }
    this.#flush();
    if (plain !== undefined) {
      this.#say(plain.slice(Math.min(this.#left, plain.length)));
      this.#left = Math.max(0, this.#left - plain.length);
      return undefined;
    }
    // Line ends are not part of the text.
    if (brace === undefined && symbol === undefined && word === undefined) return undefined;
    this.#left = 0;
    if (brace === "{") this.#begin();
    else if (brace === "}") return this.#end();
    else if (symbol === "*") this.#group.isIgnored = true;
    else if (symbol !== undefined) this.#say(TEXT_OF_WORD.get(symbol) ?? "");
    else if (word !== undefined) this.#word(word, digits === undefined ? undefined : Number(digits));
    return undefined;
  }

  #begin(): void {
    if (this.#groups.length >= DEPTH_MAX) throw new Unconverted("extraction_error", "is nested too deep");
    this.#groups.push(this.#group);
    this.#group = { ...this.#group };
  }

  /** Returns "end" at the end of the document, after which all text is ignored. */
  #end(): "end" | undefined {
    this.#group = this.#groups.pop() ?? this.#group;
    return this.#groups.length === 0 ? "end" : undefined;
  }

  #word(word: string, number: number | undefined): void {
    const group = this.#group;
    if (word === "bin") TOKEN.lastIndex += Math.max(0, number ?? 0);
    else if (word === "u" && number !== undefined) {
      this.#say(String.fromCharCode(number & 0xffff));
      this.#left = group.skip;
    } else if (word === "uc") group.skip = Math.min(Math.max(0, number ?? 1), 32);
    else if (word === "ansicpg") this.#codePage = codePageOf(number ?? 0) ?? this.#codePage;
    else if (word === "f") group.font = number;
    else if (word === "plain") group.font = undefined;
    else if (word === "fcharset" && this.#isFontTable && group.font !== undefined) {
      const page = CODE_PAGE_OF_CHARSET.get(number ?? 0);
      if (page !== undefined) this.#fonts.set(group.font, page);
    } else if (IGNORED_DESTINATIONS.has(word)) {
      group.isIgnored = true;
      this.#isFontTable = word === "fonttbl";
    } else this.#say(TEXT_OF_WORD.get(word) ?? "");
  }

  #say(part: string): void {
    if (!this.#group.isIgnored) this.#text.add(part);
  }

  #flush(): void {
    if (this.#hex.length === 0) return;
    const { font } = this.#group;
    const page = (font === undefined ? undefined : this.#fonts.get(font)) ?? this.#codePage;
    this.#say(new TextDecoder(page).decode(Uint8Array.from(this.#hex)));
    this.#hex = [];
  }
}

/** Decodes the file. RTF writes non-ASCII bytes as \'hh; a file with unescaped non-ASCII bytes is in UTF-8 or Windows-1252. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
