/**
 * Parses a shell's command line into simple commands and the operators after them, as far as its exit code requires. Linear in its
 * length. Pure. Used by `command.ts`.
 */

/** Operator after a command. A new line is a `;`; the end of the line is empty. */
export type Operator = "&&" | "||" | "|" | ";" | "&" | "";
/** Command without pipes or lists. `mayNotStart`: one of its redirections needs a file or a folder that may be missing. */
export type SimpleCommand = { words: string[]; before: Operator; after: Operator; mayNotStart: boolean };

/** Longest line that is parsed, characters: a longer one is a program, not a command. */
const LINE_MAX = 4_000;
const OPERATORS = ["&&", "||", "|&", "&", "|", ";"] as const;
const IN_QUOTES = /["\\`$]/;

/**
 * Parses a line. Undefined for lines that are too complex: substitutions, texts of several lines (`<<`), groups within a line, quotes
 * that do not end. Redirections and comments are left out.
 */
export function readCommands(text: string): SimpleCommand[] | undefined {
  const line = text.length > LINE_MAX ? "" : inner(text.trim());
  return line === "" ? undefined : new Reader(line).read();
}

/**
 * Removes the parentheses of a line that is one group: `(cd x && y)`. A line with a comment stays: the comment may contain the closing
 * one.
 */
function inner(line: string): string {
  const isGroup = line.startsWith("(") && line.endsWith(")") && !line.includes("#");
  return isGroup ? line.slice(1, -1) : line;
}

class Reader {
  readonly #line: string;
  #at = 0;
  #commands: SimpleCommand[] = [];
  #words: string[] = [];
  /** Undefined between words: a word may be empty. */
  #word: string | undefined;
  /** True if the next word is a redirection's file name, or file descriptor. */
  #isTarget = false;
  #isInput = false;
  #mayNotStart = false;
  #before: Operator = "";

  constructor(line: string) {
    this.#line = line;
  }

  read(): SimpleCommand[] | undefined {
    while (this.#at < this.#line.length) if (!this.#step()) return undefined;
    return this.#endCommand("") ? this.#commands : undefined;
  }

  /** Reads one step of the line; false if the line cannot be understood. */
  #step(): boolean {
    const sign = this.#line.charAt(this.#at);
    if (sign === "'" || sign === '"') return this.#quoted(sign);
    if (sign === "`" || sign === "(" || sign === ")" || this.#isAt("$(")) return false;
    if (sign === "\\") return this.#escaped();
    if (sign === "<" || sign === ">" || this.#isAt("&>")) return this.#redirected();
    if (sign === "#" && this.#word === undefined) return this.#skipTo("\n");
    if (sign === "&" || sign === "|" || sign === ";") return this.#operator();
    this.#at += 1;
    if (sign === "\n") return this.#endLine();
    if (sign === " " || sign === "\t" || sign === "\r") this.#endWord();
    else this.#word = (this.#word ?? "") + sign;
    return true;
  }

  #isAt(text: string): boolean {
    return this.#line.startsWith(text, this.#at);
  }

  #skipTo(sign: string): boolean {
    const end = this.#line.indexOf(sign, this.#at);
    this.#at = end === -1 ? this.#line.length : end;
    return true;
  }

  #escaped(): boolean {
    const next = this.#line.charAt(this.#at + 1);
    this.#at += 2;
    if (next !== "\n") this.#word = (this.#word ?? "") + next;
    return true;
  }

  #quoted(quote: string): boolean {
    // `$'...'` has escapes of its own.
    if (this.#word?.endsWith("$") === true) return false;
    let text = "";
    for (let at = this.#at + 1; at < this.#line.length; at++) {
      const sign = this.#line.charAt(at);
      if (sign === quote) {
        this.#word = (this.#word ?? "") + text;
        this.#at = at + 1;
        return true;
      }
      const isPlain = quote === "'" || !IN_QUOTES.test(sign);
      if (!isPlain && (sign === "`" || this.#line.startsWith("$(", at))) return false;
      text += !isPlain && sign === "\\" ? this.#line.charAt(++at) : sign;
    }
    return false;
  }

  #redirected(): boolean {
    if (this.#isAt("<<") || this.#isAt("<(") || this.#isAt(">(")) return false;
    // In `2>file` the number is part of the redirection.
    if (this.#word !== undefined && /^\d+$/.test(this.#word)) this.#word = undefined;
    this.#endWord();
    this.#isInput = this.#isAt("<");
    while (/[<>&|]/.test(this.#line.charAt(this.#at))) this.#at += 1;
    this.#isTarget = true;
    return true;
  }

  #operator(): boolean {
    const operator = OPERATORS.find((one) => this.#isAt(one)) ?? ";";
    this.#at += operator.length;
    return this.#endCommand(operator === "|&" ? "|" : operator);
  }

  /** Ends a line. An empty line adds no command, and `a &&` continues on the next line. */
  #endLine(): boolean {
    this.#endWord();
    return this.#words.length === 0 || this.#endCommand(";");
  }

  #endWord(): void {
    if (this.#word === undefined) return;
    if (this.#isTarget) this.#mayNotStart ||= mayBeMissing(this.#word, this.#isInput);
    else this.#words.push(this.#word);
    this.#isTarget = false;
    this.#word = undefined;
  }

  /**
   * Ends a command; false if the command is missing. Only the last command may be missing, and only after an operator that does not need
   * one.
   */
  #endCommand(after: Operator): boolean {
    this.#endWord();
    this.#isTarget = false;
    const words = this.#words;
    this.#words = [];
    if (words.length === 0) return after === "" && ["", ";", "&"].includes(this.#before);
    this.#commands.push({ words, before: this.#before, after, mayNotStart: this.#mayNotStart });
    this.#mayNotStart = false;
    this.#before = after;
    return true;
  }
}

/**
 * Returns true if a redirection may fail: the folder of a file to write, or the file to read, may be missing. A name without a folder can
 * always be written.
 */
function mayBeMissing(target: string, isInput: boolean): boolean {
  return !target.startsWith("/dev/") && !target.startsWith("/tmp/") && (isInput || target.includes("/"));
}
