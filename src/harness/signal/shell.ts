/**
 * A shell's command line as far as its exit code has to be understood: simple commands, and what stands behind each. Linear in its
 * length. Pure. Used by `command.ts`.
 */

/** What stands behind a command; a new line is a `;`, the end of the line is empty. */
export type Operator = "&&" | "||" | "|" | ";" | "&" | "";
/** `mayNotStart`: one of its redirections needs a file or a folder that need not be there. */
export type SimpleCommand = { words: string[]; before: Operator; after: Operator; mayNotStart: boolean };

/** A longer one is a program, not a command. */
const LINE_MAX = 4_000;
const OPERATORS = ["&&", "||", "|&", "&", "|", ";"] as const;
const IN_QUOTES = /["\\`$]/;

/**
 * Undefined for what is too involved to be understood: substitutions, texts of several lines (`<<`), groups within a line, quotes that do not end.
 * Redirections and comments are left out.
 */
export function readCommands(text: string): SimpleCommand[] | undefined {
  const line = text.length > LINE_MAX ? "" : inner(text.trim());
  return line === "" ? undefined : new Reader(line).read();
}

/** A line that is one group as a whole: `(cd x && y)`. A comment in it may hold its end. */
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
  /** The next word is a file's name, or a number of one. */
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

  /** False where the line cannot be understood. */
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
    // `2>file`: the number is no word.
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

  /** An empty line is none, and `a &&` goes on in the next one. */
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

  /** False where a command is missing: only the last one may be, and only where nothing waits for it. */
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

/** The folder of what is written, or the file that is read; a name alone can be written. */
function mayBeMissing(target: string, isInput: boolean): boolean {
  return !target.startsWith("/dev/") && !target.startsWith("/tmp/") && (isInput || target.includes("/"));
}
