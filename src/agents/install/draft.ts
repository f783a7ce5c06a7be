/**
 * Edits another program's JSON file: members are added, replaced and removed as cuts in the text, so that the comments,
 * order, indentation and line ends around them stay as they are. `modify` of jsonc-parser removes a member's comments with
 * it; this keeps them. Pure. Imported by plan.ts.
 */
import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { PalaceError } from "../../base/errors.ts";
import { cutsOf, type Cut, insertion, layoutOf } from "./layout.ts";

const BOM = "\uFEFF";

export class Draft {
  readonly path: string;
  readonly #bom: string;
  #text: string;

  /**
   * Errors: CONFIG_BAD_VALUE with line and column, when the text is neither JSON nor JSON with comments, or not an object.
   */
  constructor(path: string, content: string) {
    this.path = path;
    this.#bom = content.startsWith(BOM) ? BOM : "";
    this.#text = content.slice(this.#bom.length);
    const root = this.root();
    if (root !== undefined && root.type !== "object") throw this.error(root.offset, "is no object");
  }

  /** The file's text after all edits. */
  get content(): string {
    return this.#bom + this.#text;
  }

  /** Undefined when the text holds only blanks and comments. */
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
    if (first !== undefined) throw this.error(first.offset, `is no JSON (${printParseErrorCode(first.error)})`);
    return root;
  }

  /** Adds a member after the last one. `key` is undefined for an array, whose elements have none. */
  insert(parent: Node | undefined, key: string | undefined, value: unknown): void {
    if (parent === undefined) {
      const { eol, unit } = layoutOf(this.#text, undefined);
      const own = JSON.stringify({ [key ?? ""]: value }, null, unit).replaceAll("\n", eol);
      const gap = this.#text === "" || this.#text.endsWith("\n") ? "" : eol;
      this.#text = `${this.#text}${gap}${own}${eol}`;
    } else this.#apply(insertion(this.#text, parent, key, value));
  }

  /** `child` is a property or an element of the parent. */
  remove(parent: Node, child: Node): void {
    this.#apply(cutsOf(this.#text, parent, child));
  }

  replace(value: Node, source: string): void {
    this.#apply([{ from: value.offset, to: value.offset + value.length, put: source }]);
  }

  /** Formats a value for the place of that node. */
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
    return new PalaceError("CONFIG_BAD_VALUE", `${this.path} ${problem}: ${at}`, "mend it, then run this again");
  }

  #apply(cuts: readonly Cut[]): void {
    for (const { from, to, put } of [...cuts].sort((a, b) => b.from - a.from))
      this.#text = this.#text.slice(0, from) + put + this.#text.slice(to);
  }
}

/** Returns the value of a key; of several with one name the last, which every parser takes. */
export function valueOf(node: Node | undefined, key: string): Node | undefined {
  return propertyOf(node, key)?.children?.[1];
}

export function propertyOf(node: Node | undefined, key: string): Node | undefined {
  if (node?.type !== "object") return undefined;
  return node.children?.findLast((one) => one.children?.[0]?.value === key);
}
