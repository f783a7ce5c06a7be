/** Text of a conversion. Its length is limited, because a document of a few kilobytes can unpack to any size. */
import { Unconverted } from "./outcome.ts";

export class Text {
  readonly #max: number;
  #parts: string[] = [];
  #length = 0;

  /** `max`: maximum number of characters. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Errors: too_large. */
  add(part: string): void {
    this.#length += part.length;
    if (this.#length > this.#max)
      throw new Unconverted("too_large", `its text is longer than ${this.#max / 1024 / 1024} Mi characters`);
    this.#parts.push(part);
  }

  /** Adds a block and a blank line. */
  block(text: string): void {
    const trimmed = text.replace(/[ \t]+$/gm, "").replace(/^\n+|\s+$/g, "");
    if (trimmed !== "") this.add(`${trimmed}\n\n`);
  }

  toString(): string {
    return this.#parts.join("");
  }
}

/** Maximum cells of a table. In Markdown all rows get as many cells as the longest one, so one long row may need much memory. */
export const CELLS_MAX = 5_000_000;

/** Formats a table as Markdown; bars in a cell are escaped, line ends become spaces. Errors: too_large. */
export function table(rows: readonly (readonly string[])[]): string {
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (width === 0) return "";
  if (width * rows.length > CELLS_MAX) throw new Unconverted("too_large", "holds too large a table");
  const line = (row: readonly string[]): string =>
    `| ${Array.from({ length: width }, (_, at) => cell(row[at] ?? "")).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), `|${" --- |".repeat(width)}`, ...body.map(line)].join("\n");
}

function cell(text: string): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|");
}
