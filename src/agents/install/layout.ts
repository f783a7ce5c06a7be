/** Finds where a member of a JSON text begins and ends, and its neighbours' indentation. */
import { createScanner, type Node } from "jsonc-parser";

export type Cut = { from: number; to: number; put: string };

/** `base`: indentation of the line on which a node begins. */
type Layout = { eol: string; unit: string; base: string };

/** Kinds of tokens. jsonc-parser exports them as a const enum, which does not exist if types are only stripped. */
const COMMA = 5;
const LINE_COMMENT = 12;
const BLOCK_COMMENT = 13;
const END = 17;

export function layoutOf(text: string, node: Node | undefined): Layout {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const unit = /[{[][ \t]*(?:\/\/[^\n]*)?(?:[ \t]*\r?\n)+([ \t]+)["{[]/.exec(text)?.[1] ?? "  ";
  return { eol, unit, base: node === undefined ? "" : indentation(text, node.offset) };
}

/** Inserts a member after the last member and the comment on that member's line, and adds a comma if needed. */
export function insertion(text: string, parent: Node, key: string | undefined, value: unknown): Cut[] {
  const { eol, unit, base } = layoutOf(text, parent);
  const name = key === undefined ? "" : `${JSON.stringify(key)}:`;
  const last = parent.children?.at(-1);
  if (isOneLine(text, parent)) {
    const gap = name === "" ? "" : `${name} `;
    if (last === undefined) return [at(parent.offset + 1, `${gap}${JSON.stringify(value)}`)];
    const end = last.offset + last.length;
    const comma = commaBehind(text, end);
    const piece = `${gap}${JSON.stringify(value)}`;
    return [comma === undefined ? at(end, `, ${piece}`) : at(comma + 1, ` ${piece},`)];
  }
  const indent = last !== undefined && isFirstOnLine(text, last.offset) ? indentation(text, last.offset) : base + unit;
  const source = JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);
  const piece = `${eol}${indent}${name === "" ? "" : `${name} `}${source}`;
  if (last === undefined) {
    const hasLines = text.slice(parent.offset, parent.offset + parent.length).includes("\n");
    return [at(parent.offset + 1, hasLines ? piece : `${piece}${eol}${base}`)];
  }
  const end = last.offset + last.length;
  const comma = commaBehind(text, end);
  if (comma !== undefined) return [at(lineEnd(text, comma + 1), `${piece},`)];
  const closing = parent.offset + parent.length - 1;
  // Moves a closing brace from the last member's line to its own line.
  const tail = text.slice(lineEnd(text, end), closing).includes("\n") ? "" : `${eol}${base}`;
  const place = lineEnd(text, end);
  return place === end ? [at(end, `,${piece}${tail}`)] : [at(end, ","), at(place, `${piece}${tail}`)];
}

/** Removes a member with the blanks before it and one comma. Keeps comments. */
export function cutsOf(text: string, parent: Node, child: Node): Cut[] {
  const siblings = parent.children ?? [];
  const previous = siblings[siblings.indexOf(child) - 1];
  const end = child.offset + child.length;
  const behind = commaBehind(text, end);
  const before = previous === undefined ? undefined : commaBehind(text, previous.offset + previous.length);
  const floor = before === undefined ? parent.offset + 1 : before + 1;
  const stop = behind === undefined ? end : behind + 1;
  const cuts: Cut[] = [cut(gapBefore(text, floor, child.offset, stop), end)];
  if (behind !== undefined) cuts.push(cut(behind, behind + 1));
  else if (before !== undefined) cuts.push(cut(before, before + 1));
  return cuts;
}

/** Returns where to cut the blanks before a member. Keeps the line end of a `//` comment, unless a line end follows at `stop`, too. */
function gapBefore(text: string, floor: number, offset: number, stop: number): number {
  let from = offset;
  while (from > floor && /\s/.test(text.charAt(from - 1))) from -= 1;
  if (!endsWithLineComment(text, floor, offset) || /^[ \t]*\r?\n/.test(text.slice(stop))) return from;
  const newline = text.indexOf("\n", from);
  return newline < 0 || newline >= offset ? from : newline + 1;
}

function endsWithLineComment(text: string, from: number, to: number): boolean {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let isComment = false;
  for (let kind = scanner.scan(); (kind as number) !== END && scanner.getTokenOffset() < to; kind = scanner.scan()) {
    if ((kind as number) === LINE_COMMENT) isComment = true;
    else if ((kind as number) === BLOCK_COMMENT) isComment = false;
  }
  return isComment;
}

/** Returns the offset of the comma after `offset` and any comments; undefined if something else follows. */
function commaBehind(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return (scanner.scan() as number) === COMMA ? scanner.getTokenOffset() : undefined;
}

/** Returns the offset after the comments on the same line, or the same offset if there are none. */
function lineEnd(text: string, offset: number): number {
  const scanner = createScanner(text, false);
  scanner.setPosition(offset);
  let place = offset;
  for (let kind = scanner.scan() as number; ; kind = scanner.scan() as number) {
    const end = scanner.getTokenOffset() + scanner.getTokenLength();
    if (kind === LINE_COMMENT) return end;
    if (kind === BLOCK_COMMENT) {
      place = end;
      if (text.slice(scanner.getTokenOffset(), end).includes("\n")) return end;
    } else if (text.slice(scanner.getTokenOffset(), end).trim() !== "" || kind === END || kind === 14) return place;
  }
}

/** Returns true if the node's members are on one line. An empty node counts as one line if the whole text is on one line. */
function isOneLine(text: string, node: Node): boolean {
  const last = node.children?.at(-1);
  if (last !== undefined) return !text.slice(node.offset, last.offset + last.length).includes("\n");
  let root = node;
  while (root.parent !== undefined) root = root.parent;
  return root !== node && !text.slice(root.offset, root.offset + root.length).includes("\n");
}

function isFirstOnLine(text: string, offset: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset));
}

function indentation(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? "";
}

const at = (offset: number, put: string): Cut => ({ from: offset, to: offset, put });
const cut = (from: number, to: number): Cut => ({ from, to, put: "" });
