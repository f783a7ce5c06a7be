/**
 * Edits another program's JSON file by cutting its text, so that comments, order, indentation and line ends around a changed member are
 * kept. (`modify` of jsonc-parser would remove a member's comments, too.)
 */
import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { badValue, type PalaceError } from "../../base/errors.ts";
import { cutsOf, type Cut, insertion, layoutOf } from "./layout.ts";

const BOM = "\uFEFF";

export class Draft {
  readonly path: string;
  readonly #bom: string;
  #text: string;

  /** Parses a settings file, which may have comments. Errors: CONFIG_BAD_VALUE with line and column unless it is a JSON object. */
  constructor(path: string, content: string) {
    this.path = path;
    this.#bom = content.startsWith(BOM) ? BOM : "";
    this.#text = content.slice(this.#bom.length);
    const root = this.root();
    if (root !== undefined && root.type !== "object") throw this.error(root.offset, "is not an object");
  }

  get content(): string {
    return this.#bom + this.#text;
  }

  /** Returns the root of the JSON tree; undefined if the text has only blanks and comments. */
  root(): Node | undefined {
    const errors: ParseError[] = [];
    let root: Node | undefined;
    try {
      root = parseTree(this.#text, errors, { allowTrailingComma: true, allowEmptyContent: true });
    } catch (cause) {
      if (cause instanceof RangeError) throw this.error(0, "is nested too deep");
      throw cause;
    }
    const [first] = errors;
    if (first !== undefined) throw this.error(first.offset, `is not JSON (${printParseErrorCode(first.error)})`);
    return root;
  }

  /** Adds a member after the last one, or a new object if `parent` is undefined. `key` is undefined for an element of an array. */
  insert(parent: Node | undefined, key: string | undefined, value: unknown): void {
    if (parent === undefined) {
      const { eol, unit } = layoutOf(this.#text, undefined);
      const own = JSON.stringify({ [key ?? ""]: value }, null, unit).replaceAll("\n", eol);
      const gap = this.#text === "" || this.#text.endsWith("\n") ? "" : eol;
      this.#text = `${this.#text}${gap}${own}${eol}`;
    } else this.#apply(insertion(this.#text, parent, key, value));
  }

  remove(parent: Node, child: Node): void {
    this.#apply(cutsOf(this.#text, parent, child));
  }

  replace(value: Node, source: string): void {
    this.#apply([{ from: value.offset, to: value.offset + value.length, put: source }]);
  }

  /** Formats a value with the indentation of the node `at`. */
  source(at: Node, value: unknown): string {
    const { eol, unit, base } = layoutOf(this.#text, at);
    return JSON.stringify(value, null, unit).replaceAll("\n", eol + base);
  }

  textOf(node: Node): string {
    return this.#text.slice(node.offset, node.offset + node.length);
  }

  error(offset: number, problem: string): PalaceError {
    const before = this.#text.slice(0, offset).split(/\r\n|\n|\r/);
    const at = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
    return badValue(`${this.path} ${problem}: ${at}`, "correct it, then run this again");
  }

  #apply(cuts: readonly Cut[]): void {
    for (const { from, to, put } of [...cuts].sort((a, b) => b.from - a.from))
      this.#text = this.#text.slice(0, from) + put + this.#text.slice(to);
  }
}

/** Returns the value of a key. If a key occurs several times, returns the last value, as every parser does. */
export function valueOf(node: Node | undefined, key: string): Node | undefined {
  return propertyOf(node, key)?.children?.[1];
}

export function propertyOf(node: Node | undefined, key: string): Node | undefined {
  if (node?.type !== "object") return undefined;
  return node.children?.findLast((one) => one.children?.[0]?.value === key);
}
